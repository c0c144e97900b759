"""inference_mode in place of no_grad."""

from __future__ import annotations

from typing import TYPE_CHECKING

from boundby.bench.framework import torch
from boundby.experiment.change import Answers, Change, once, prior
from boundby.experiment.values import Facts

if TYPE_CHECKING:
    from boundby.experiment.build import Build
    from boundby.experiment.outside import Outside


def applies(facts: Facts) -> bool:
    """No optimizer."""
    return not facts.trains


def apply(build: Build, value: str) -> None:
    """Another context around the forward pass."""
    del value
    build.inference = "inference_mode"


def outside(script: Outside, value: str) -> None:
    """Put it in the place of no_grad."""
    del script, value
    torch().no_grad = torch().inference_mode


CHANGE = Change(
    id="inference-mode",
    title="inference mode",
    prescription="inference-mode",
    answers=Answers(saves=("launch",), shapes="no later use of the outputs in autograd"),
    values=once("true", applies),
    prior=prior(0.03),
    apply=apply,
    outside=outside,
    patch=lambda _: "with torch.inference_mode():\n    outputs = model(batch)",
)
