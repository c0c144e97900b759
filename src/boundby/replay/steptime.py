"""Step times out of a replay: drained as a stopwatch shows it, steady as a long run has it."""

from __future__ import annotations

from boundby.replay.engine import replay
from boundby.replay.program import Program

WARM_REPEATS = 3
"""Windows replayed end to end; most queues have reached their level after the second."""
SETTLING_REPEATS = 12
"""For programs whose streams chase each other; the mean over the last half is taken."""
SETTLED = 1e-3
"""Relative difference between two windows from which the queue counts as settled."""


def drained_ns(program: Program) -> float:
    """Completion to completion from an empty queue, ns per step."""
    return replay(program).finish[0] / program.steps


def steady_ns(program: Program) -> float:
    """Time one more window adds once the queue has its level, ns per step.

    A program too small to fill a queue reaches it at once; one whose host runs ahead is paced by
    the device. Never above ``drained_ns`` by more than rounding.
    """
    finish = replay(program, WARM_REPEATS).finish
    last, before = float(finish[-1] - finish[-2]), float(finish[-2] - finish[-3])
    if abs(last - before) > SETTLED * last:
        finish = replay(program, SETTLING_REPEATS).finish
        half = SETTLING_REPEATS // 2
        last = (finish[-1] - finish[half - 1]) / half
    return last / program.steps


def submit_ns(program: Program) -> float:
    """Host time from an empty queue until the first step has been submitted, waits included."""
    first = program.points.step == 0
    return float(replay(program).point[first].max()) if first.any() else 0.0
