"""Nesting by time: which row of a thread holds which, for any rows ordered by start.

A recording has no parent column that can be trusted: calls carry no parent at all, and clocks of
two sources are a little apart. So rows nest by time, and two accidents are put up with: a child
that ends 1 ns after its parent (rounding) does not swallow its next sibling, and a child that
outlives its parent by more (another clock) stays its child.
"""

from __future__ import annotations

from itertools import count
from typing import Any

import numpy as np
import numpy.typing as npt

from boundby.distribution import distinct
from boundby.intervals import Ints
from boundby.read.recording import NONE

ROUNDING = 1
"""Nanoseconds by which the end of a row may be too late; recordings round starts and durations."""

MANY_ROUNDS = 64
"""Deeper than operators and frames of real programs that end at once."""

AnyInts = npt.NDArray[np.signedinteger[Any]]


def parents(start: Ints, end: Ints, thread: AnyInts) -> Ints:
    """int64[n]: the innermost earlier row of the same thread that is open when each row starts.

    NONE where there is none. Rows must be ordered by start (ns), ties with the longer row first.
    """
    order = np.argsort(_narrow(thread), kind="stable")
    begin, finish, owner = start[order], end[order], thread[order]
    # The first guess is the row before; while that is over, the guess of the guess is next: what
    # is over for the guess is over for this row too.
    parent = np.arange(-1, len(order) - 1, dtype=np.int64)
    parent[1:][owner[1:] != owner[:-1]] = NONE
    over = _is_over(finish[:-1], begin[1:], finish[1:]) & (parent[1:] != NONE)
    active = np.flatnonzero(over) + 1
    for rounds in count():
        if not len(active):
            break
        if rounds == MANY_ROUNDS:
            parent = _parents_one_by_one(begin, finish, owner)
            break
        parent[active] = guess = parent[parent[active]]
        active, guess = active[guess != NONE], guess[guess != NONE]
        active = active[_is_over(finish[guess], begin[active], finish[active])]
    found = np.full(len(order), NONE, dtype=np.int64)
    held = parent != NONE
    found[order[held]] = order[parent[held]]
    return found


def _parents_one_by_one(begin: Ints, finish: Ints, owner: AnyInts) -> Ints:
    """The same on a stack, for rows nested so deep that looking at all of them at once is slow."""
    stack: list[tuple[int, int]] = []
    found: list[int] = []
    last = NONE
    rows = zip(begin.tolist(), finish.tolist(), owner.tolist(), strict=True)
    for row, (start, end, thread) in enumerate(rows):
        if thread != last:
            stack, last = [], thread
        while stack and (
            stack[-1][0] <= start or (stack[-1][0] <= start + ROUNDING and stack[-1][0] < end)
        ):
            stack.pop()
        found.append(stack[-1][1] if stack else NONE)
        stack.append((end, row))
    return np.array(found, dtype=np.int64)


def enclosing(
    rows: tuple[Ints, Ints, AnyInts], parent: Ints, times: Ints, threads: AnyInts
) -> Ints:
    """int64[len(times)]: the innermost row of a thread that is open at each time, else NONE.

    Args:
        rows: start, end (ns) and thread of the rows, ordered as for ``parents``.
        parent: What ``parents`` says of them.
        times: ns.
        threads: The thread asked about at each time.
    """
    start, end, thread = rows
    found = np.full(len(times), NONE, dtype=np.int64)
    for value in distinct(threads):
        mine = np.flatnonzero(thread == value)
        asked = np.flatnonzero(threads == value)
        last = np.searchsorted(start[mine], times[asked], side="right") - 1
        found[asked[last >= 0]] = mine[last[last >= 0]]
    active = np.flatnonzero(found != NONE)
    while len(active):
        active = active[end[found[active]] <= times[active]]
        found[active] = parent[found[active]]
        active = active[found[active] != NONE]
    return found


def _is_over(end: Ints, start: Ints, until: Ints) -> npt.NDArray[np.bool_]:
    """Whether a row that ends at ``end`` is over for a later row ``[start, until)``."""
    over = end <= start
    rounded = (end <= start + ROUNDING) & (end < until)
    return np.asarray(over | rounded, dtype=np.bool_)


def _narrow(values: AnyInts) -> AnyInts:
    """The values in 16 bits where they fit: numpy sorts those in linear time."""
    fits = not len(values) or int(values.max()) <= np.iinfo(np.int16).max
    return values.astype(np.int16) if fits else values
