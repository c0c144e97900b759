"""TF32 for float32 products."""

from __future__ import annotations

from typing import Any

from boundby.bench.framework import torch
from boundby.experiment.change import Answers, Change, once, prior
from boundby.experiment.values import Facts
from boundby.prescribe.rule import Risk

AMPERE = 8.0


def applies(facts: Facts) -> bool:
    """Float32 parameters on a device that has TF32."""
    return "float32" in facts.dtypes and (facts.capability or 0.0) >= AMPERE


def apply(_: Any, __: str) -> None:  # noqa: ANN401 -- a build, or a script from outside
    """Products and convolutions."""
    torch().set_float32_matmul_precision("high")
    torch().backends.cudnn.allow_tf32 = True


CHANGE = Change(
    id="tf32",
    title="TF32 products",
    prescription="tf32",
    allow="numerics",
    risk=Risk.SHAPES,
    answers=Answers(saves=("compute",), numerics="yes: products keep 10 bits of the mantissa"),
    values=once("high", applies),
    prior=prior(0.4),
    apply=apply,
    outside=apply,
    precision="tf32",
    patch=lambda _: (
        'torch.set_float32_matmul_precision("high")\ntorch.backends.cudnn.allow_tf32 = True'
    ),
)
