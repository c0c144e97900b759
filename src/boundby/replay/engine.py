"""Replays a Program: host and device advance together, joined by the queue.

The host walks through the points. A launch makes its work available; the work starts when it is
available, its stream is free and the work it waits for is done. A wait holds the host until the
awaited work is done; a launch holds it while the queue is full. O(points).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from boundby.intervals import Ints
from boundby.replay.program import ALL_WORK, NOTHING, PointKind, Program


@dataclass(frozen=True)
class Replayed:
    """When things happened in a replay, ns after its start.

    Attributes:
        start, end: int64[m] of each work item (of the last repetition).
        point: int64[n] host time after each point (of the last repetition).
        finish: When host and device were both done, one entry a repetition.
    """

    start: Ints
    end: Ints
    point: Ints
    finish: tuple[int, ...]


def replay(program: Program, repeats: int = 1) -> Replayed:
    """Replay from an empty queue, ``repeats`` times end to end without draining in between."""
    state = _State(program)
    finish = []
    for _ in range(repeats):
        state.run_window()
        finish.append(state.finished_at())
    return Replayed(
        np.array(state.start, dtype=np.int64),
        np.array(state.end, dtype=np.int64),
        np.array(state.point, dtype=np.int64),
        tuple(finish),
    )


class _State:
    """Clock of the host and of every stream during a replay. Plain lists: indexed one by one."""

    def __init__(self, program: Program) -> None:
        points, work = program.points, program.work
        self.kind = points.kind.tolist()
        self.host = points.host.sum(axis=1).tolist()
        self.target = points.target.tolist()
        self.wake = points.wake.tolist()
        self.stream = work.stream.tolist()
        self.dur = work.dur.tolist()
        self.latency = work.latency.tolist()
        self.lead = work.lead.tolist()
        self.after = work.after.tolist()
        self.limit = program.queue_limit
        self.now = 0
        self.free = [0] * (max(self.stream, default=0) + 1)
        self.start: list[int] = [0] * len(work)
        self.end: list[int] = [0] * len(work)
        self.point: list[int] = [0] * len(self.kind)

    def run_window(self) -> None:
        """Walk through all points once."""
        launch, wait = int(PointKind.LAUNCH), int(PointKind.WAIT)
        now, end, limit = self.now, self.end, self.limit
        for i, kind in enumerate(self.kind):
            now += self.host[i]
            if kind == launch:
                item = self.target[i]
                if item >= limit and end[item - limit] > now:
                    now = end[item - limit]
                self._enqueue(item, now)
            elif kind == wait:
                now = self._wait(self.target[i], now, self.wake[i])
            self.point[i] = now
        self.now = now

    def _enqueue(self, item: int, now: int) -> None:
        stream = self.stream[item]
        begin = now + self.latency[item]
        queued = self.free[stream] + self.lead[item]
        if queued > begin:
            begin = queued
        other = self.after[item]
        if other != NOTHING and self.end[other] > begin:
            begin = self.end[other]
        self.start[item] = begin
        self.end[item] = self.free[stream] = begin + self.dur[item]

    def _wait(self, target: int, now: int, wake: int) -> int:
        if target == NOTHING:
            return now
        done = max(self.free) if target == ALL_WORK else self.end[target]
        return max(now, done + wake)

    def finished_at(self) -> int:
        """When the host has gone through and every stream is drained."""
        return max(self.now, *self.free)
