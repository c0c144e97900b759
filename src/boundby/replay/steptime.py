"""Step times out of a replay: drained as a stopwatch shows it, steady as a long run has it."""

from __future__ import annotations

from boundby.replay.engine import replay
from boundby.replay.program import Program

WARM_REPEATS = 3
"""Windows replayed end to end; the queue has reached its level after the second."""


def drained_ns(program: Program) -> float:
    """Completion to completion from an empty queue, ns per step."""
    return replay(program).finish[0] / program.steps


def steady_ns(program: Program) -> float:
    """Time one more window adds once the queue has its level, ns per step.

    A program too small to fill a queue reaches it at once; one whose host runs ahead is paced by
    the device. Never above ``drained_ns`` by more than rounding.
    """
    finish = replay(program, WARM_REPEATS).finish
    return (finish[-1] - finish[-2]) / program.steps


def submit_ns(program: Program) -> float:
    """Host time from an empty queue until the first step has been submitted, waits included."""
    first = program.points.step == 0
    return float(replay(program).point[first].max()) if first.any() else 0.0
