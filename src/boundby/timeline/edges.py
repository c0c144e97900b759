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
    edge = np.zeros(len(start), dtype=np.bool_)
    if not len(start) or not (timeline.launch_step != NONE).any():
        return edge
    first, last = _launching(timeline)
    step, own = timeline.steps.of(start), ~_inside_operators(timeline, start)
    leading = np.flatnonzero(own & (start < first[step]))
    trailing = np.flatnonzero(own & (start > last[step]))
    final = len(first) - 1
    at_begin, at_end = leading[step[leading] == 0], trailing[step[trailing] == final]
    edge[at_begin[: len(at_begin) - _habit(step[leading], range(1, final + 1))]] = True
    edge[at_end[_habit(step[trailing], range(final)) :]] = True
    return edge


def _launching(timeline: Timeline) -> tuple[Ints, Ints]:
    """Start of the first and of the last launch of each step, ns."""
    inside = timeline.launch_step != NONE
    first = np.full(len(timeline.steps), np.iinfo(np.int64).max)
    last = np.zeros(len(timeline.steps), dtype=np.int64)
    np.minimum.at(first, timeline.launch_step[inside], timeline.launches.start[inside])
    np.maximum.at(last, timeline.launch_step[inside], timeline.launches.start[inside])
    return first, last


def _habit(steps: Ints, others: range) -> int:
    """How many such waits every other step has; 0 where there is no other step."""
    counts = np.bincount(steps, minlength=others.stop)[others.start : others.stop]
    return int(counts.min()) if len(counts) else 0


def _inside_operators(timeline: Timeline, start: Ints) -> Bools:
    host = timeline.recording.host
    operators = (host.kind == HostKind.OP) & np.isin(host.thread, timeline.line.threads)
    covered = union(host.start[operators], host.end[operators])
    return np.asarray(covered.within(start, start + 1) > 0)
