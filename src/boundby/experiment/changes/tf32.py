"""TF32 for float32 products."""

from __future__ import annotations

from typing import Any

from boundby.bench.framework import torch
from boundby.experiment.change import Answers, Change
from boundby.experiment.values import Configuration, Facts, value_of
from boundby.prescribe.rule import Risk

AMPERE = 8.0
LITTLE = 0.01
"""Where the program computes in less by itself (convolutions do, unless told not to): tried only if
its recording shows float32 work."""
NARROWER = ("bf16", "fp16", "bf16-params", "bf16-weights")
"""Changes under which no product of note is left in float32."""


def values(facts: Facts, configuration: Configuration) -> tuple[str, ...]:
    """Float32 products on a device that has TF32, where the program does not use it itself."""
    has_it = "float32" in facts.dtypes and (facts.capability or 0.0) >= AMPERE
    narrower = any(value_of(configuration, each) for each in NARROWER)
    return ("high",) if has_it and not narrower and not facts.has_tf32 else ()


def apply(_: Any, __: str) -> None:  # noqa: ANN401 -- a build, or a script from outside
    """Products and convolutions."""
    torch().set_float32_matmul_precision("high")
    torch().backends.cudnn.allow_tf32 = True


CHANGE = Change(
    id="tf32",
    title="TF32 products",
    prescription="tf32",
    unseen=LITTLE,
    allow="numerics",
    risk=Risk.SHAPES,
    answers=Answers(saves=("compute",), numerics="yes: products keep 10 bits of the mantissa"),
    values=values,
    prior=lambda facts, _: 0.4 if facts.computes == "float32" else LITTLE,
    apply=apply,
    outside=apply,
    precision="tf32",
    patch=lambda _: (
        'torch.set_float32_matmul_precision("high")\ntorch.backends.cudnn.allow_tf32 = True'
    ),
)
