"""Norms written out by hand replaced by torch's own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from boundby.bench.framework import torch, torch_module
from boundby.experiment.change import Answers, Change, once, prior
from boundby.experiment.values import Facts
from boundby.prescribe.rule import Risk

if TYPE_CHECKING:
    from boundby.experiment.build import Build

EPSILONS = ("eps", "epsilon", "variance_epsilon")
LEAST = 1e-6


def applies(facts: Facts) -> bool:
    """A module whose class is called a norm and that is none of torch's."""
    ours = {"LayerNorm", "RMSNorm"}
    return any(name.endswith("Norm") and name not in ours for name in facts.modules)


def apply(build: Build, value: str) -> None:
    """Give each the forward of torch's norm, with its own parameters."""
    del value
    for module in build.model.modules():
        name, is_torch = type(module).__name__, type(module).__module__.startswith("torch.")
        if is_torch or "Norm" not in name or getattr(module, "weight", None) is None:
            continue
        module.forward = _forward(module, is_rms="RMS" in name)


def _forward(module: Any, *, is_rms: bool) -> Any:  # noqa: ANN401 -- a module
    functional = torch_module("nn.functional")
    epsilon = next((getattr(module, n) for n in EPSILONS if hasattr(module, n)), LEAST)
    shape = tuple(module.weight.shape)

    def rms(x: Any) -> Any:  # noqa: ANN401 -- a tensor
        return functional.rms_norm(x, shape, module.weight, epsilon)

    def layer(x: Any) -> Any:  # noqa: ANN401 -- a tensor
        bias = getattr(module, "bias", None)
        return torch().layer_norm(x, shape, module.weight, bias, epsilon)

    return rms if is_rms else layer


CHANGE = Change(
    id="fused-norm",
    title="torch's own norms",
    prescription="fused-norm",
    risk=Risk.SHAPES,
    stage="model",
    answers=Answers(saves=("traffic", "launch"), memory="less", numerics="rounding only"),
    values=once("true", applies),
    prior=prior(0.05),
    apply=apply,
    patch=lambda _: "self.norm = nn.RMSNorm(d, eps=eps)     # or nn.LayerNorm, with your weights",
)
