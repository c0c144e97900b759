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


FEW_ROUNDS = 32
"""Usual depth of operators; deeper chains are jumped over."""


def climb(outer: Ints, end: Ints, at: Ints, times: Ints) -> Ints:
    """int64: the first of ``at``, ``outer[at]``, ... that ends at or after each time; -1 if none.

    Steps up together while chains are short; what is deeper jumps by powers of two, so that deep
    nesting costs the logarithm of its depth.

    Args:
        outer: int64[n] interval that holds each and ends later, -1 at the top.
        end: int64[n] ns.
        at: int64[m] where to begin, -1 for nowhere.
        times: int64[m] ns.
    """
    at = at.copy()
    active = _short(end, at, times, np.arange(len(at)))
    for _ in range(FEW_ROUNDS):
        if not len(active):
            return at
        at[active] = outer[at[active]]
        active = _short(end, at, times, active)
    jumps = [outer]
    while (jumps[-1] >= 0).any():
        jumps.append(np.where(jumps[-1] >= 0, jumps[-1][np.maximum(jumps[-1], 0)], -1))
    for jump in reversed(jumps):
        ahead = jump[at[active]]
        still = (ahead >= 0) & (end[np.maximum(ahead, 0)] < times[active])
        at[active[still]] = ahead[still]
    at[active] = outer[at[active]]
    return at


def _short(end: Ints, at: Ints, times: Ints, asked: Ints) -> Ints:
    """Those asked for whose interval ends too early."""
    asked = asked[at[asked] >= 0]
    return asked[end[at[asked]] < times[asked]]


def outlasting(end: Ints) -> Ints:
    """int64: for each interval, ordered by start, the nearest earlier one that ends later; -1.

    All are looked for at once: whatever lies between a candidate and its own candidate ends no
    later than it, so it can be skipped. What takes many rounds is found one by one on a stack.
    """
    outer = np.arange(len(end), dtype=np.int64) - 1
    for _ in range(FEW_ROUNDS):
        shorter = np.flatnonzero((outer >= 0) & (end[np.maximum(outer, 0)] <= end))
        if not len(shorter):
            return outer
        outer[shorter] = outer[outer[shorter]]
    stack: list[tuple[int, int]] = []
    found: list[int] = []
    for row, until in enumerate(end.tolist()):
        while stack and stack[-1][0] <= until:
            stack.pop()
        found.append(stack[-1][1] if stack else -1)
        stack.append((until, row))
    return np.array(found, dtype=np.int64)
