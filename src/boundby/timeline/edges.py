"""Waits at the edges of a recorded window: the recording's own, not the program's.

Whoever times or ends a window synchronises before its first and after its last launch. A wait
inside an operator (the ``item`` that ends a step) is the program's, and so is one that every other
step has in the same place.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from boundby.intervals import Ints, union
from boundby.read.recording import NONE, HostKind
from boundby.timeline.timeline import Timeline

Bools = npt.NDArray[np.bool_]


def at_edges(timeline: Timeline, start: Ints) -> Bools:
    """bool[len(start)]: which waits, by their start (ns, inside steps), are the recording's own."""
    if not len(start) or not (timeline.launch_step != NONE).any():
        return np.zeros(len(start), dtype=np.bool_)
    first, last = _launching(timeline)
    step = timeline.steps.of(start)
    final = len(first) - 1
    leading, trailing = start < first[step], start > last[step]
    edge = leading & (step == 0) & (not _is_habit(step[leading], range(1, final + 1)))
    edge |= trailing & (step == final) & (not _is_habit(step[trailing], range(final)))
    return np.asarray(edge & ~_inside_operators(timeline, start))


def _launching(timeline: Timeline) -> tuple[Ints, Ints]:
    """Start of the first and of the last launch of each step, ns."""
    inside = timeline.launch_step != NONE
    first = np.full(len(timeline.steps), np.iinfo(np.int64).max)
    last = np.zeros(len(timeline.steps), dtype=np.int64)
    np.minimum.at(first, timeline.launch_step[inside], timeline.launches.start[inside])
    np.maximum.at(last, timeline.launch_step[inside], timeline.launches.start[inside])
    return first, last


def _is_habit(steps: Ints, others: range) -> bool:
    """Whether every other step has such a wait too; False where there is no other step."""
    return bool(others) and set(others) <= set(steps.tolist())


def _inside_operators(timeline: Timeline, start: Ints) -> Bools:
    host = timeline.recording.host
    operators = (host.kind == HostKind.OP) & np.isin(host.thread, timeline.line.threads)
    covered = union(host.start[operators], host.end[operators])
    return np.asarray(covered.within(start, start + 1) > 0)
