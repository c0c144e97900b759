"""Fused attention, with the choice of its kernel: the next one is tried where one is wrong."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from boundby.bench.framework import torch, torch_module
from boundby.experiment.change import Answers, Change
from boundby.experiment.values import Configuration, Facts, value_of
from boundby.prescribe.rule import Risk

if TYPE_CHECKING:
    from boundby.experiment.build import Build

CUDA = ("default", "flash", "efficient", "cudnn")
CPU = ("default",)
BACKENDS = {
    "flash": "FLASH_ATTENTION",
    "efficient": "EFFICIENT_ATTENTION",
    "cudnn": "CUDNN_ATTENTION",
    "math": "MATH",
}
LIBRARY = "set_attn_implementation"
"""The method by which models of transformers change their attention."""
OWN = "own:"
"""Before the name of a function that the workload brings."""


def choices(facts: Facts) -> tuple[str, ...]:
    """Functions to try, in order: the workload's, torch's own choice, then each kernel."""
    own = tuple(f"{OWN}{name}" for name in facts.cores)
    return own + (CUDA if facts.on_cuda else CPU)


def values(facts: Facts, configuration: Configuration) -> tuple[str, ...]:
    """A workload whose attention can be replaced, and still is its own."""
    if value_of(configuration, "sdpa"):
        return ()
    if "attention" in facts.offers:
        return choices(facts)
    return (LIBRARY,) if LIBRARY in facts.offers else ()


def apply(build: Build, value: str) -> None:
    """Put the function in."""
    if value == LIBRARY:
        build.model.set_attn_implementation("sdpa")
        return
    build.core = core_of(build.workload, value)
    build.workload.attention(build.model, build.core)


def core_of(workload: Any, value: str) -> Callable[..., Any]:  # noqa: ANN401 -- the user's own
    """The attention function of a name."""
    if value.startswith(OWN):
        found: Callable[..., Any] = workload.cores[value.removeprefix(OWN)]
        return found
    functional = torch_module("nn.functional")
    if value == "default":
        chosen: Callable[..., Any] = functional.scaled_dot_product_attention
        return chosen
    attention = torch_module("nn.attention")
    backend = getattr(attention.SDPBackend, BACKENDS[value])

    def core(q: Any, k: Any, v: Any) -> Any:  # noqa: ANN401 -- tensors
        with attention.sdpa_kernel(backend):
            return functional.scaled_dot_product_attention(q, k, v)

    return core


def by_formula(q: Any, k: Any, v: Any) -> Any:  # noqa: ANN401 -- tensors
    """Attention as it is defined, which every function is held against."""
    scores = q @ k.transpose(-2, -1) / float(q.shape[-1]) ** 0.5
    return torch().softmax(scores, -1) @ v


def patch(value: str) -> str:
    """The code."""
    if value == LIBRARY:
        return 'model.set_attn_implementation("sdpa")'
    if value.startswith(OWN):
        return f"y = {value.removeprefix(OWN)}(q, k, v)   # in place of softmax(q k^T / sqrt(d)) v"
    plain = "y = F.scaled_dot_product_attention(q, k, v)"
    if value == "default":
        return plain
    name = BACKENDS[value]
    return f"with torch.nn.attention.sdpa_kernel(SDPBackend.{name}):\n    {plain}"


CHANGE = Change(
    id="sdpa",
    title="fused attention",
    prescription="sdpa",
    risk=Risk.SHAPES,
    stage="model",
    answers=Answers(
        saves=("traffic", "launch"),
        memory="less: no score matrix",
        numerics="rounding only; gradients over layouts are checked",
        shapes="head sizes and masks that the kernel supports",
    ),
    values=values,
    prior=lambda facts, _: 0.15 if facts.on_cuda else 0.05,
    apply=apply,
    patch=patch,
)
