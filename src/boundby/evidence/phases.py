"""Forward, backward and optimizer, found without the user naming them."""

from __future__ import annotations

import re

import numpy as np

from boundby.distribution import distinct
from boundby.evidence.naming import rows_named
from boundby.frozen import frozen
from boundby.intervals import EMPTY, Intervals, Ints, merge, subtract, union
from boundby.read.recording import NONE, HostKind
from boundby.timeline.steps import LOADER
from boundby.timeline.timeline import Timeline

BACKWARD = re.compile(r"^autograd::engine::evaluate_function|^\w+Backward\d*$")
"""Operators of the autograd engine; recordings of torch 1.8 hold only the functions it calls."""
OPTIMIZER = re.compile(r"^Optimizer\.step#")

NAMED_PHASE = {
    "forward": re.compile(r"(?<![a-z])(forward|fwd)(?![a-z])", re.IGNORECASE),
    "backward": re.compile(r"(?<![a-z])(backward|bwd)(?![a-z])", re.IGNORECASE),
    "optimizer": re.compile(r"(?<![a-z])(optimizer|optim|opt)(?![a-z])", re.IGNORECASE),
}
"""How users call the phases in their own ranges."""
LIBRARY_RANGE = re.compile(r"^Optimizer\.|^enumerate\(DataLoader\)|^## |^nccl:|^c10d::|^gloo:|^\[")
"""Ranges that torch opens by itself: they name no phase on the user's behalf."""


@frozen
class Stretch:
    """When something was on, and how often it was entered."""

    when: Intervals
    count: int


NEVER = Stretch(Intervals(EMPTY, EMPTY), 0)


def derived_phases(timeline: Timeline) -> dict[str, Stretch]:
    """When each phase is on inside the steps.

    Backward is the union of the engine's operators, optimizer that of its ranges without their
    closures; forward is the operator time before the last backward of a step that is neither,
    nor loading. Without a backward there is no forward: all of an inference program would be it.
    """
    backward = _once_a_step(timeline, stretch(timeline, BACKWARD, HostKind.OP).when)
    optimizer = updates(timeline)
    loader = stretch(timeline, LOADER, HostKind.RANGE, HostKind.OP)
    forward = NEVER
    if backward.count:
        before = _before_last(timeline, backward.when)
        other = merge(backward.when, optimizer.when, loader.when)
        forward = _once_a_step(timeline, subtract(before, other))
    return {"forward": forward, "backward": backward, "optimizer": optimizer}


def updates(timeline: Timeline) -> Stretch:
    """When an optimizer updates: its ranges, each without the closure that it calls first.

    ``optimizer.step(closure)`` runs forward and backward in its own range: so does Lightning.
    """
    ranges = stretch(timeline, OPTIMIZER, HostKind.RANGE, HostKind.OP)
    if not ranges.count:
        return ranges
    backward = stretch(timeline, BACKWARD, HostKind.OP).when
    return Stretch(without_closures(ranges.when, backward), ranges.count)


def without_closures(ranges: Intervals, backward: Intervals) -> Intervals:
    """What is left of each range after the last backward that starts inside it."""
    last = np.searchsorted(backward.start, ranges.end) - 1
    if not len(backward.start):
        return ranges
    is_inside = (last >= 0) & (backward.start[last] >= ranges.start)
    return union(np.where(is_inside, backward.end[last], ranges.start), ranges.end)


def stretch(timeline: Timeline, pattern: re.Pattern[str], *kinds: HostKind) -> Stretch:
    """When rows of these kinds and names are open on the submitting threads, inside steps."""
    host = timeline.recording.host
    rows = np.flatnonzero(np.isin(host.kind, kinds))
    rows = rows[rows_named(timeline.recording.names, host.name[rows], pattern.search)]
    rows = _inside(timeline, rows)
    return Stretch(union(host.start[rows], host.end[rows]), len(rows))


def _once_a_step(timeline: Timeline, when: Intervals) -> Stretch:
    """Counted by the steps it occurs in: how often it was entered is not to be seen."""
    return Stretch(when, len(distinct(timeline.steps.of(when.start))))


def _inside(timeline: Timeline, rows: Ints) -> Ints:
    """The rows that start inside a step on a submitting thread."""
    host = timeline.recording.host
    rows = rows[np.isin(host.thread[rows], timeline.line.threads)]
    return np.asarray(rows[timeline.steps.of(host.start[rows]) != NONE])


def _before_last(timeline: Timeline, backward: Intervals) -> Intervals:
    """Operator time of each step before its last backward begins."""
    host, steps = timeline.recording.host, timeline.steps
    last = np.full(len(steps), np.iinfo(np.int64).min)
    step = steps.of(backward.start)
    np.maximum.at(last, step[step != NONE], backward.start[step != NONE])
    rows = _inside(timeline, np.flatnonzero(host.kind == HostKind.OP))
    rows = rows[host.start[rows] < last[steps.of(host.start[rows])]]
    return union(host.start[rows], host.end[rows])
