"""Where the steps of a program begin in the history of its memory."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from boundby.distribution import distinct
from boundby.memory.history import History
from boundby.memory.stacks import Phase, Stacks
from boundby.read.recording import NONE, Ints
from boundby.read.snapshot_types import Action, Snapshot

LEAST_STEPS = 3
ENOUGH_STEPS = 5
"""As many as a test of growth needs: a loop of fewer is only taken where there is no better."""

DEEPEST = 40
"""Outermost Python frames looked at: a training loop lies within them, outside of any module."""

LEAST_SPAN = 0.3
"""Share of the history that the steps must cover; a loop that builds a model covers less."""

LEAST_FREED = 0.2
"""Frees to allocations within the steps: a loop that only allocates builds something."""

LEAST_TRAINED = 0.6
"""Share of the steps that must hold a backward pass where there is any: layers are no steps."""

LEAST_FITTING = 0.8
"""Share of all allocations whose stacks must repeat in multiples of the number of steps."""

UNEVEN = 4
"""A step is at most so many times as long as the median one."""

OPTIMIZER_RANGE = "Optimizer.step"
RANGES = (("ProfilerStep", True), (OPTIMIZER_RANGE, False), ("enumerate(DataLoader)", True))
"""Names of ranges that come once a step, and whether the step begins at their start."""

BY_STACKS = "repeating stacks"


@dataclass(frozen=True)
class Steps:
    """The steps of one device.

    Attributes:
        marks: int64 events at which a step begins; its state is the one before that event.
        source: Where they come from: the name of a range, ``repeating lines``, ``repeating
            stacks`` or ``none``.
    """

    marks: Ints
    source: str

    def __len__(self) -> int:
        return len(self.marks)


NO_STEPS = Steps(np.zeros(0, dtype=np.int64), "none")


def find_steps(snapshot: Snapshot, history: History, stacks: Stacks) -> Steps:
    """The steps by ranges, else by the outermost lines that repeat, else by stacks."""
    for found in (
        _by_ranges(snapshot, history),
        _by_lines(history, stacks),
        _by_counts(history),
    ):
        if len(found) >= LEAST_STEPS and _trains(found.marks, history, stacks):
            return found
    return NO_STEPS


def _by_ranges(snapshot: Snapshot, history: History) -> Steps:
    marks, times = snapshot.marks, history.events.time
    if not len(marks) or not len(times) or (times < 0).any():
        return NO_STEPS
    for prefix, at_start in RANGES:
        named = np.array([name.startswith(prefix) for name in snapshot.names], dtype=bool)
        rows = named[marks.name] & ((marks.is_start > 0) == at_start) & (marks.time >= 0)
        chosen = marks.time[rows]
        chosen = chosen[(chosen >= times[0]) & (chosen <= times[-1])]
        if len(chosen) >= LEAST_STEPS:
            return Steps(np.searchsorted(times, np.sort(chosen)).astype(np.int64), prefix)
    return NO_STEPS


def _by_lines(history: History, stacks: Stacks) -> Steps:
    """The outermost depth at which the program returns to a line again and again."""
    rows, ids = _allocations(history)
    paths = {stack: _outside(stack, stacks) for stack in distinct(ids).tolist()}
    is_known = np.array([bool(paths[stack]) for stack in ids.tolist()], dtype=bool)
    rows, ids = rows[is_known], ids[is_known]
    best = NO_STEPS
    if not len(rows):
        return best
    unique, codes = np.unique(ids, return_inverse=True)
    for depth in range(1, DEEPEST + 1):
        numbers: dict[tuple[int, ...], int] = {}
        prefixes = [paths[stack][:depth] for stack in unique.tolist()]
        keys = np.array([numbers.setdefault(prefix, len(numbers)) for prefix in prefixes])[codes]
        begins = np.flatnonzero(np.append(True, keys[1:] != keys[:-1]))
        marks = rows[begins[keys[begins] == _anchor(keys[begins])]]
        if len(marks) > len(best) and len(best) < ENOUGH_STEPS and _covers(marks, history):
            best = Steps(marks.astype(np.int64), "repeating lines")
    return best


def _outside(stack: int, stacks: Stacks) -> tuple[int, ...]:
    """Python frames from the outermost to the first call of a module: inside, layers repeat."""
    path: list[int] = []
    for frame in reversed(stacks.python_frames(stack)):
        path.append(frame)
        if stacks.calls_module[frame]:
            break
    return tuple(path)


def _anchor(keys: np.ndarray) -> int:
    """The key that most runs have; of several the first to appear."""
    counts = np.bincount(keys)
    return int(keys[np.argmax(counts[keys])])


def _by_counts(history: History) -> Steps:
    """The rarest stack that repeats evenly and whose count divides most of the others."""
    rows, ids = _allocations(history)
    if not len(rows):
        return NO_STEPS
    unique, codes, counts = np.unique(ids, return_inverse=True, return_counts=True)
    weights = counts * (counts >= LEAST_STEPS)
    for count in distinct(counts[(counts >= LEAST_STEPS)]).tolist():
        if weights[counts % count == 0].sum() < LEAST_FITTING * weights.sum():
            continue
        for code in np.flatnonzero((counts == count) & (unique != NONE)).tolist():
            marks = rows[codes == code]
            if _covers(marks, history) and _frees(marks, history) and _is_even(marks):
                return Steps(marks.astype(np.int64), BY_STACKS)
    return NO_STEPS


def _allocations(history: History) -> tuple[Ints, np.ndarray]:
    rows = np.flatnonzero(history.events.action == Action.ALLOC)
    return rows, history.events.stack[rows]


def _covers(marks: Ints, history: History) -> bool:
    return len(marks) >= LEAST_STEPS and marks[-1] - marks[0] >= LEAST_SPAN * len(history.events)


def _is_even(marks: Ints) -> bool:
    gaps = np.diff(marks)
    return bool(gaps.max() <= UNEVEN * np.median(gaps))


def _trains(marks: Ints, history: History, stacks: Stacks) -> bool:
    """Whether the steps hold the backward passes, where the history has any."""
    phases = stacks.phases[history.spans.stack]
    backward = np.sort(history.spans.birth[(phases == Phase.BACKWARD) & (history.spans.birth >= 0)])
    if not len(backward):
        return True
    inside = np.diff(np.searchsorted(backward, marks)) > 0
    return bool(inside.mean() >= LEAST_TRAINED)


def _frees(marks: Ints, history: History) -> bool:
    actions = history.events.action[marks[0] : marks[-1]]
    made = int((actions == Action.ALLOC).sum())
    return int((actions == Action.FREE_COMPLETED).sum()) >= LEAST_FREED * made
