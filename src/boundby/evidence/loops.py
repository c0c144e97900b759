"""Python loops over slices: a short pattern of launches that repeats inside a step."""

from __future__ import annotations

import re

import numpy as np

from boundby.evidence.launched import Launched, nodes_named
from boundby.evidence.naming import Bools
from boundby.frozen import frozen
from boundby.intervals import Ints

SLICE = re.compile(r"^aten::(select|slice|narrow|index|index_select)$")
READ_BACK = re.compile(r"^aten::(item|is_nonzero)$")
"""A loop that reads a value back each time slices in order to read: the wait is what it costs."""
SHORT_PERIOD = 8
"""Launches of a loop body. A layer of a network, which repeats too, makes ten or more."""
SHORT_REPEATS = 8
LONG_PERIOD = 24
LONG_REPEATS = 32
"""Longer bodies (a recurrent cell by hand) must repeat more often than networks have layers."""
CERTAIN_REPEATS = 64
"""So often no layer repeats, whether or not slices are seen."""
LONGEST = 20_000
"""Launches of a step that are looked at."""


@frozen
class Loop:
    """Launches in loops.

    Attributes:
        inside: bool[m] launches that belong to a loop.
        repeats: Iterations of the longest loop in a step; 0 without a loop.
    """

    inside: Bools
    repeats: float


@frozen
class Run:
    """Launches ``first`` up to ``last`` of a sequence that repeat with a period."""

    first: int
    last: int
    period: int

    @property
    def repeats(self) -> float:
        """How often the pattern occurs."""
        return (self.last - self.first) / self.period


def find_loop(launched: Launched) -> Loop:
    """The loops of the middle step, taken as those of every step with as many launches."""
    inside = np.zeros(len(launched), dtype=np.bool_)
    middle = np.flatnonzero(launched.step == launched.step[len(launched) // 2])[:LONGEST]
    sequence = (
        launched.name[middle] * (len(launched.names) + 1) + launched.tree.name[launched.op[middle]]
    )
    runs = find_runs(sequence)
    slices, reads = (
        launched.tree.start[nodes_named(launched, pattern)] for pattern in (SLICE, READ_BACK)
    )
    loops = [
        run
        for run in runs
        if _occurs(run, launched.start[middle], slices) or run.repeats >= CERTAIN_REPEATS
        if not _occurs(run, launched.start[middle], reads)
    ]
    if not loops:
        return Loop(inside, 0.0)
    repeats = max(run.repeats for run in loops)
    pattern = np.zeros(len(middle), dtype=np.bool_)
    for run in runs:
        # The backward pass of a loop repeats as often, though it slices nothing.
        if run in loops or run.repeats >= repeats / 2:
            pattern[run.first : run.last] = True
    return Loop(_every_step(launched, inside, pattern), repeats)


def find_runs(sequence: Ints) -> list[Run]:
    """Maximal stretches that repeat with a period, shortest period first; they do not overlap."""
    taken = np.zeros(len(sequence), dtype=np.bool_)
    runs: list[Run] = []
    for period in range(1, LONG_PERIOD + 1):
        needed = SHORT_REPEATS if period <= SHORT_PERIOD else LONG_REPEATS
        same = (sequence[period:] == sequence[:-period]) & ~taken[period:] & ~taken[:-period]
        edges = np.flatnonzero(np.diff(np.concatenate(([0], same.astype(np.int8), [0]))))
        for first, end in zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True):
            run = Run(first, end + period, period)
            if run.repeats >= needed:
                runs.append(run)
                taken[first : end + period] = True
    return runs


def _occurs(run: Run, start: Ints, times: Ints) -> bool:
    """Whether at least one of the times falls into each repeat, on average."""
    begin, end = start[run.first], start[run.last - 1]
    return int(((times >= begin) & (times <= end)).sum()) >= run.repeats - 1


def _every_step(launched: Launched, inside: Bools, pattern: Bools) -> Bools:
    """The pattern of the middle step laid over all steps; steps of other length stay outside."""
    counts = np.bincount(launched.step - launched.step.min())
    first = np.concatenate(([0], np.cumsum(counts)[:-1]))
    for begin, count in zip(first.tolist(), counts.tolist(), strict=True):
        if min(count, LONGEST) == len(pattern):
            inside[begin : begin + len(pattern)] = pattern
    return inside
