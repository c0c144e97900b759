"""Losses read back once in a hundred steps."""

from __future__ import annotations

from typing import TYPE_CHECKING

from boundby.experiment.change import Answers, Change, once, prior
from boundby.experiment.values import Facts

if TYPE_CHECKING:
    from boundby.experiment.build import Build

EVERY = 100


def applies(facts: Facts) -> bool:
    """A workload that logs."""
    return "log" in facts.offers


def apply(build: Build, value: str) -> None:
    """Call ``log`` once in so many steps."""
    build.log_every = int(value)


CHANGE = Change(
    id="fewer-readbacks",
    title="losses read back seldom",
    prescription="fewer-readbacks",
    answers=Answers(saves=("sync",)),
    values=once(str(EVERY), applies),
    prior=prior(0.05),
    apply=apply,
    patch=lambda value: f"if step % {value} == 0:\n    log(loss)",
)
