"""More samples a step; the sizes to try are found by the batch search."""

from __future__ import annotations

from boundby.experiment.change import Answers, Change
from boundby.experiment.values import BATCH, Configuration, Facts
from boundby.prescribe.rule import Risk

SEARCH = "search"
"""The value that stands for the best size that the search finds."""


def values(facts: Facts, configuration: Configuration) -> tuple[str, ...]:
    """A search, where the size of the batch is known."""
    del configuration
    return (SEARCH,) if facts.batch else ()


CHANGE = Change(
    id=BATCH,
    title="larger batch",
    prescription="larger-batch",
    allow="batch",
    risk=Risk.SHAPES,
    answers=Answers(
        saves=("launch",),
        memory="yes: activations grow with the batch",
        numerics="yes: another optimisation; adjust the learning rate, check the loss",
        shapes="yes: this batch size",
    ),
    values=values,
    prior=lambda _, __: 0.15,
    patch=lambda value: f"batch_size = {value}",
)
