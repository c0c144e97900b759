"""cuDNN measures its algorithms once for each shape."""

from __future__ import annotations

from typing import Any

from boundby.bench.framework import torch
from boundby.experiment.change import Answers, Change, once, prior
from boundby.experiment.values import Facts


def applies(facts: Facts) -> bool:
    """Convolutions on CUDA."""
    return facts.on_cuda and (facts.kind == "script" or facts.has_module("Conv"))


def apply(_: Any, __: str) -> None:  # noqa: ANN401 -- a build, or a script from outside
    """A switch of torch."""
    torch().backends.cudnn.benchmark = True


CHANGE = Change(
    id="cudnn-benchmark",
    title="cudnn.benchmark",
    prescription="cudnn-benchmark",
    answers=Answers(
        saves=("compute",),
        memory="workspaces of the algorithms tried",
        numerics="rounding only",
        shapes="yes: measured again for each shape",
        startup="yes: the first steps measure",
    ),
    values=once("true", applies),
    prior=prior(0.05),
    apply=apply,
    outside=apply,
    patch=lambda _: "torch.backends.cudnn.benchmark = True",
)
