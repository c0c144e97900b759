"""Blocks that are computed again in backward: what each way costs in time, and whether it pays."""

from __future__ import annotations

from dataclasses import dataclass

from boundby.memory.checkpointing import Advice, advise
from boundby.memory.pace import Pace

RECOMPUTED = 1 / 3
"""A forward pass as a share of a step: backward costs two."""

SELECTIVE = -1


@dataclass(frozen=True)
class Checkpointed:
    """The peak with some blocks computed again.

    Attributes:
        every: 1 where every block is, k where one of k blocks keeps its activations; SELECTIVE
            where every block is but for its matrix products, whose results are kept.
        time_share: Expected time more, as a share of the step, until measured; None for
            SELECTIVE: what is not a product is computed again.
        advice: Whether it pays, by what bounds the step in time.
    """

    every: int
    blocks: int
    peak: int
    time_share: float | None
    advice: Advice


@dataclass(frozen=True)
class Scale:
    """What whether it pays depends on: the time, and bytes that activations may take."""

    pace: Pace | None
    room: int | None
    fixed: int
    peak: int

    def advice(self, peak: int, price: float | None) -> Advice:
        """Whether a way to recompute pays that takes this peak at the batch in question."""
        now, then = self.peak - self.fixed, peak - self.fixed
        if self.room is None or now <= 0 or then <= 0:
            return advise(fits=None, pace=self.pace)
        return advise(
            fits=now <= self.room,
            pace=self.pace,
            grows=self.room / then,
            grows_anyway=self.room / now,
            price=RECOMPUTED if price is None else price,
        )
