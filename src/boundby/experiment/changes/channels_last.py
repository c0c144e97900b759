"""Images and convolutions with their channels last."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from boundby.bench.framework import map_tensors, torch
from boundby.experiment.change import Answers, Change, once, prior
from boundby.experiment.values import Facts
from boundby.prescribe.rule import Risk

if TYPE_CHECKING:
    from boundby.experiment.build import Build
    from boundby.experiment.outside import Outside

IMAGES = 4


def applies(facts: Facts) -> bool:
    """A model with two-dimensional convolutions."""
    return facts.has_module("Conv2d")


def apply(build: Build, value: str) -> None:
    """Weights now, inputs as they come."""
    del value
    build.model.to(memory_format=torch().channels_last)
    build.channels_last = True


def outside(script: Outside, value: str) -> None:
    """The root module and its inputs."""
    del value

    def wrap(model: Any) -> None:  # noqa: ANN401 -- a module
        model.to(memory_format=torch().channels_last)
        forward = model.forward

        def laid_out(*arguments: Any, **keywords: Any) -> Any:  # noqa: ANN401 -- the user's own
            return forward(*map_tensors(_last, arguments), **keywords)

        model.forward = laid_out

    script.when_model(wrap)


def _last(tensor: Any) -> Any:  # noqa: ANN401 -- a tensor
    is_image = tensor.dim() == IMAGES
    return tensor.to(memory_format=torch().channels_last) if is_image else tensor


CHANGE = Change(
    id="channels-last",
    title="channels last",
    prescription="channels-last",
    risk=Risk.SHAPES,
    stage="model",
    answers=Answers(saves=("traffic",), numerics="rounding only", shapes="four-dimensional inputs"),
    values=once("true", applies),
    prior=prior(0.08),
    apply=apply,
    outside=outside,
    patch=lambda _: (
        "model.to(memory_format=torch.channels_last)\n"
        "images = images.to(memory_format=torch.channels_last)"
    ),
)
