"""bfloat16 weights for inference: what autocast computes, without its casts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from boundby.experiment.change import Answers, Change
from boundby.experiment.changes.bf16_params import NARROW, follows_autocast, narrow
from boundby.experiment.values import Configuration, Facts
from boundby.prescribe.rule import Risk

if TYPE_CHECKING:
    from boundby.experiment.build import Build


def values(facts: Facts, configuration: Configuration) -> tuple[str, ...]:
    """Inference, after autocast was found right: in training, updates would be lost."""
    return () if facts.trains or not follows_autocast(facts, configuration) else ("true",)


def apply(build: Build, value: str) -> None:
    """Give the model bfloat16 parameters."""
    del value
    narrow(build)


CHANGE = Change(
    id="bf16-weights",
    title="bf16 weights",
    prescription="bf16",
    allow="numerics",
    risk=Risk.NUMERICS,
    stage="model",
    answers=Answers(
        saves=("traffic", "launch"),
        memory="less: parameters halve",
        numerics="yes: as autocast, and norms in bf16 too",
    ),
    values=values,
    prior=lambda _, __: 0.08,
    apply=apply,
    precision="bf16 parameters",
    replaces=("bf16", "fp16"),
    patch=lambda _: NARROW,
)
