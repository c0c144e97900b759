"""Observed step times: drained, steady, and the quartiles of the recorded ranges."""

from __future__ import annotations

import numpy as np

from boundby.distribution import percentiles
from boundby.read.recording import NONE
from boundby.replay.engine import replay
from boundby.replay.program import Program
from boundby.replay.steptime import drained_ns, steady_ns
from boundby.replay.values import Estimate, Quartiles, StepTimes
from boundby.timeline.timeline import Timeline
from boundby.units import ms

MAY_RUN_AHEAD = 0.1
"""Share of a step's range that device work may outlast it by; beyond, ranges say nothing."""

FEWEST_STEPS = 2
"""Quartiles of one step say nothing."""


def observe_steps(
    timeline: Timeline, program: Program | None, unprofiled: Estimate | None
) -> StepTimes:
    """Step times of the recording; None where there is no program to replay."""
    return StepTimes(
        count=len(timeline.steps),
        source=timeline.steps.source,
        drained_ms=None if program is None else ms(drained_ns(program)),
        steady_ms=None if program is None else ms(steady_ns(program)),
        range_ms=_quartiles(timeline),
        unprofiled_ms=unprofiled,
    )


def excess(timeline: Timeline, program: Program) -> float:
    """How much longer the unedited replay is than the recording it was made from, relative.

    From the begin of the first step to the last completion. Only this side counts: a device that
    was busy before the first step makes a replay shorter, and lawfully so.
    """
    inside = timeline.row_step != NONE
    done = int(timeline.recording.device.end[timeline.rows[inside]].max(initial=0))
    recorded = max(done, int(timeline.steps.end[-1])) - int(timeline.steps.start[0])
    return max(float(replay(program).finish[0]) / recorded - 1.0, 0.0)


def _quartiles(timeline: Timeline) -> Quartiles:
    steps = timeline.steps
    length = steps.end - steps.start
    if len(steps) < FEWEST_STEPS or steps.source == "window" or _runs_ahead(timeline):
        return Quartiles(None, None, None)
    q1, median, q3 = percentiles(length, (25, 50, 75))
    return Quartiles(ms(median), ms(q1), ms(q3))


def _runs_ahead(timeline: Timeline) -> bool:
    """Whether device work of any step outlasts its host range noticeably."""
    steps, inside = timeline.steps, timeline.row_step != NONE
    done = steps.end.copy()
    np.maximum.at(
        done, timeline.row_step[inside], timeline.recording.device.end[timeline.rows[inside]]
    )
    return bool(((done - steps.end) > MAY_RUN_AHEAD * (steps.end - steps.start)).any())
