"""Whether the steps of a recording are alike: how long each takes until the device is done."""

from __future__ import annotations

import numpy as np

from boundby.frozen import frozen
from boundby.intervals import Ints
from boundby.read.recording import NONE
from boundby.timeline.hostline import LineKind
from boundby.timeline.timeline import Timeline

MIN_STEPS = 3
"""Of two steps neither is the usual one."""
LONG = 3.0
"""A step this many times as long as the median one is of another kind."""
EXCESS = 0.25
"""Share of all steps' time that long ones may take beyond the median before the mean misleads."""


@frozen
class LongSteps:
    """Steps of another kind than the others.

    Attributes:
        count: How many there are.
        are_first: Whether they all come before the others.
        longest, usual: int ns of the longest one and of the median step.
        share: Share of the time of all steps that they take.
    """

    count: int
    are_first: bool
    longest: int
    usual: int
    share: float


def step_lengths(timeline: Timeline) -> Ints:
    """int64[steps] ns from the moment the device is done with the step before to that of each.

    Host ranges say nothing where the host runs ahead of the device; where a step launched nothing
    its range is all there is.
    """
    steps = timeline.steps
    done = np.full(len(steps), np.iinfo(np.int64).min)
    inside = timeline.row_step != NONE
    ends = timeline.recording.device.end[timeline.rows[inside]]
    np.maximum.at(done, timeline.row_step[inside], ends)
    done = np.maximum.accumulate(np.where(done < steps.start, steps.end, done))
    begin = np.maximum(steps.start, np.append(steps.start[0] + _waited_before(timeline), done[:-1]))
    return np.asarray(np.maximum(done - begin, 0))


def _waited_before(timeline: Timeline) -> int:
    """Ns of the first step that go by, without host work of its own, before its first kernel runs.

    A wait before the first launch is the recording's own, and so is a queue from before it.
    """
    first = np.flatnonzero(timeline.launch_step != NONE)[:1]
    if not len(first):
        return 0
    launch = timeline.launches.start[first]
    start = np.minimum(timeline.steps.start[:1], launch)
    waits = timeline.line.time_by_kind(start, launch)[0, LineKind.SYNC]
    queued = timeline.recording.device.start[timeline.launches.first_row[first]] - launch
    return int(waits + max(queued[0], 0))


def find_long_steps(timeline: Timeline) -> LongSteps | None:
    """Steps so much longer than the median one that the mean is of no step; None where none are."""
    lengths = step_lengths(timeline)
    if len(lengths) < MIN_STEPS:
        return None
    usual, total = float(np.median(lengths)), float(lengths.sum())
    long = np.flatnonzero(lengths > LONG * usual)
    excess = float((lengths[long] - usual).sum())
    if not len(long) or excess < EXCESS * total:
        return None
    return LongSteps(
        count=len(long),
        are_first=bool(long[-1] == len(long) - 1),
        longest=int(lengths[long].max()),
        usual=int(usual),
        share=float(lengths[long].sum()) / total,
    )
