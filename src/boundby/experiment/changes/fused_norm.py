"""Norms written out by hand replaced by torch's own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from boundby.experiment.change import Answers, Change, once, prior
from boundby.experiment.norms import norms_by_hand
from boundby.experiment.values import Facts
from boundby.prescribe.rule import Risk

if TYPE_CHECKING:
    from boundby.experiment.build import Build


def applies(facts: Facts) -> bool:
    """A module that computes what a norm of torch does, and is none."""
    return "norms" in facts.offers


def apply(build: Build, value: str) -> None:
    """Give each the forward of torch's norm, with its own parameters."""
    del value
    for module, norm in norms_by_hand(build.model):
        module.forward = norm


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
