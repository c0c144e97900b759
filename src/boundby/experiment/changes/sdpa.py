"""Fused attention, with the choice of its kernel: the next one is tried where one is wrong."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from boundby.bench.framework import torch, torch_module
from boundby.experiment.change import Answers, Change
from boundby.experiment.values import Configuration, Facts, value_of
from boundby.prescribe.rule import Risk

if TYPE_CHECKING:
    from boundby.experiment.build import Build

ONE_LAYOUT = "one-layout"
"""torch's own choice, with each gradient brought into one layout first, that which a reshape to
(batch, position, width) gives: a kernel that is right for the first layout it sees (cuDNN under
torch 2.11) then never sees another."""
HEADS_DIM = 3
"""From so many dimensions on there are heads."""
CUDA = ("default", ONE_LAYOUT, "flash", "efficient", "cudnn")
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
    if value == ONE_LAYOUT:
        apply = one_layout().apply
        return lambda q, k, v: apply(functional.scaled_dot_product_attention(q, k, v))
    attention = torch_module("nn.attention")
    backend = getattr(attention.SDPBackend, BACKENDS[value])

    def core(q: Any, k: Any, v: Any) -> Any:  # noqa: ANN401 -- tensors
        with attention.sdpa_kernel(backend):
            return functional.scaled_dot_product_attention(q, k, v)

    return core


@lru_cache(maxsize=1)
def one_layout() -> Any:  # noqa: ANN401 -- a class of torch
    """An identity whose gradient always lies in memory as (batch, position, head, width)."""

    class OneLayout(torch().autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(_ctx: Any, out: Any) -> Any:  # noqa: ANN401 -- tensors
            return out.view_as(out)

        @staticmethod
        def backward(_ctx: Any, grad: Any) -> Any:  # noqa: ANN401 -- tensors
            if grad.dim() < HEADS_DIM:
                return grad.contiguous()
            return grad.transpose(-3, -2).contiguous().transpose(-3, -2)

    return OneLayout


def by_formula(q: Any, k: Any, v: Any) -> Any:  # noqa: ANN401 -- tensors
    """Attention as it is defined, which every function is held against."""
    scores = q @ k.transpose(-2, -1) / float(q.shape[-1]) ** 0.5
    return torch().softmax(scores, -1) @ v


ONE_LAYOUT_PATCH = """\
class OneLayout(torch.autograd.Function):   # every gradient in one layout
    @staticmethod
    def forward(ctx, out):
        return out.view_as(out)

    @staticmethod
    def backward(ctx, grad):
        return grad.transpose(1, 2).contiguous().transpose(1, 2)

y = OneLayout.apply(F.scaled_dot_product_attention(q, k, v))"""


def patch(value: str) -> str:
    """The code."""
    if value == LIBRARY:
        return 'model.set_attn_implementation("sdpa")'
    if value.startswith(OWN):
        return f"y = {value.removeprefix(OWN)}(q, k, v)   # in place of softmax(q k^T / sqrt(d)) v"
    plain = "y = F.scaled_dot_product_attention(q, k, v)"
    if value == "default":
        return plain
    if value == ONE_LAYOUT:
        return ONE_LAYOUT_PATCH
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
