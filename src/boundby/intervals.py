"""Sets of half-open time intervals ``[start, end)`` as sorted int64 arrays (nanoseconds)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
EMPTY: Ints = np.zeros(0, dtype=np.int64)


@dataclass(frozen=True)
class Intervals:
    """Disjoint intervals in rising order.

    Attributes:
        start: int64[n], nanoseconds.
        end: int64[n], nanoseconds; ``end[i] <= start[i + 1]``.
    """

    start: Ints
    end: Ints

    @property
    def total(self) -> int:
        """Summed length in nanoseconds."""
        return int((self.end - self.start).sum())

    def covered_until(self, times: Ints) -> Ints:
        """Covered nanoseconds before each time, int64 like ``times``."""
        if not len(self.start):
            return np.zeros(len(times), dtype=np.int64)
        length = np.concatenate(([0], np.cumsum(self.end - self.start)))
        position = np.searchsorted(self.start, times, side="right")
        inside = np.maximum(self.end[np.maximum(position - 1, 0)] - times, 0)
        return np.where(position > 0, length[position] - inside, 0)

    def within(self, start: Ints, end: Ints) -> Ints:
        """Covered nanoseconds inside each window ``[start[i], end[i])``."""
        return self.covered_until(end) - self.covered_until(start)


def union(start: Ints, end: Ints) -> Intervals:
    """The union of possibly overlapping intervals; empty and negative ones are dropped."""
    kept = end > start
    start, end = start[kept], end[kept]
    if not len(start):
        return Intervals(EMPTY, EMPTY)
    order = np.argsort(start, kind="stable")
    start, reach = start[order], np.maximum.accumulate(end[order])
    opens = np.concatenate(([True], start[1:] > reach[:-1]))
    firsts = np.flatnonzero(opens)
    lasts = np.concatenate((firsts[1:] - 1, [len(start) - 1]))
    return Intervals(start[firsts], reach[lasts])


def merge(*sets: Intervals) -> Intervals:
    """The union of several interval sets."""
    return union(
        np.concatenate([s.start for s in sets] or [EMPTY]),
        np.concatenate([s.end for s in sets] or [EMPTY]),
    )


def subtract(when: Intervals, other: Intervals) -> Intervals:
    """The first set where the second is off."""
    both = merge(when, other)
    start = np.sort(np.concatenate((both.start, other.end)))
    end = np.sort(np.concatenate((other.start, both.end)))
    return union(start, end)
