"""Replays a Program: host and device advance together, joined by the queue.

The host walks through the points. A launch makes its work available; the work starts when it is
available, its stream is free and the work it waits for is done. A wait holds the host until the
awaited work is done; a launch holds it while the queue is full. O(points).

Between two waits nothing but a full queue flows back from device to host, so a stretch of launches
is a running sum on the host and, per stream, a running maximum on the device:
``end[i] = c[i] + max(free, max over j <= i of available[j] + dur[j] - c[j])`` with ``c`` the
running sum of lead and duration. A full queue is the same running maximum on the host, over chunks
no longer than the queue. Long stretches are computed so, in numpy; short ones, and programs with
dependencies between streams, point by point.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from boundby.distribution import distinct
from boundby.frozen import frozen
from boundby.intervals import Ints
from boundby.replay.program import ALL_WORK, NOTHING, PointKind, Program

LONG_STRETCH = 48
"""Points from which numpy beats the interpreter (about 15 us against 0.3 us a point)."""

FEW_EACH = 16
"""Items of one stream in a chunk from which numpy beats the interpreter."""


@frozen
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


def replay(program: Program, repeats: int = 1, *, long_stretch: int = LONG_STRETCH) -> Replayed:
    """Replay from an empty queue, ``repeats`` times end to end without draining in between."""
    state = _State(program)
    stretches = _stretches(program, long_stretch)
    finish = []
    for _ in range(repeats):
        if program.takes_turns:
            state.free = [state.drained] * len(state.free)
        for first, last, is_long in stretches:
            if not (is_long and state.run_stretch(first, last)):
                state.run_points(first, last)
        finish.append(state.finished_at())
    return Replayed(state.start, state.end, state.point, tuple(finish))


def _stretches(program: Program, long_stretch: int) -> list[tuple[int, int, bool]]:
    """Point ranges ``[first, last)`` that end with a wait, short neighbours joined."""
    waits = np.flatnonzero(
        (program.points.kind == PointKind.WAIT) & (program.points.target != NOTHING)
    )
    bounds = [0, *(waits + 1).tolist(), len(program.points.kind)]
    ranges: list[tuple[int, int, bool]] = []
    for first, last in pairwise(bounds):
        is_long = last - first >= long_stretch
        if ranges and not is_long and not ranges[-1][2]:
            ranges[-1] = ranges[-1][0], last, False
        elif last > first:
            ranges.append((first, last, is_long))
    return ranges


class _State:
    """Clock of the host and of every stream during a replay.

    A launch waits for the item ``limit`` launches before it; at the start of a repetition that is
    one of the repetition before, which a negative index finds at the end of ``end``.
    """

    def __init__(self, program: Program) -> None:
        points, work = program.points, program.work
        self.points, self.work = points, work
        self.host = np.asarray(points.host.sum(axis=1), dtype=np.int64)
        self.limit = program.queue_limit
        self.now = 0
        self.free = [0] * (int(work.stream.max(initial=0)) + 1)
        self.drained = 0
        self.start = np.zeros(len(work), dtype=np.int64)
        self.end = np.zeros(len(work), dtype=np.int64)
        self.point = np.zeros(len(points.kind), dtype=np.int64)
        self.has_dependencies = bool((work.after != NOTHING).any())

    def finished_at(self) -> int:
        """When the host has gone through and every stream is drained."""
        return max(self.now, self.drained)

    def run_stretch(self, first: int, last: int) -> bool:
        """One stretch in numpy; False, with nothing changed, where that does not hold."""
        if self.has_dependencies:
            return False
        for begin in range(first, last, self.limit):
            self._run_chunk(begin, min(begin + self.limit, last))
        if self.points.kind[last - 1] == PointKind.WAIT:
            self._wait_at(last - 1)
        return True

    def _run_chunk(self, first: int, last: int) -> None:
        """At most ``limit`` points: what a launch may wait for room for is known before."""
        elapsed = np.cumsum(self.host[first:last])
        launches = np.flatnonzero(self.points.kind[first:last] == PointKind.LAUNCH)
        items = self.points.target[first:last][launches]
        at = self.now + elapsed
        if self.limit <= len(self.end):
            room = np.full(last - first, self.now, dtype=np.int64)
            room[launches] = self.end[items - self.limit] - elapsed[launches]
            at = elapsed + np.maximum.accumulate(np.maximum(room, self.now))
        self._advance_streams(items, at[launches])
        self.point[first:last] = at
        self.now = int(at[-1])

    def _advance_streams(self, items: Ints, at: Ints) -> None:
        work = self.work
        available, dur, stream = at + work.latency[items], work.dur[items], work.stream[items]
        if len(self.free) > 1 and len(distinct(stream)) * FEW_EACH > len(items):
            self._advance_one_by_one(items, available)
            return
        for number, mine in self._by_stream(stream):
            total = np.cumsum(work.lead[items][mine] + dur[mine])
            reach = np.maximum.accumulate(available[mine] + dur[mine] - total)
            end = total + np.maximum(reach, self.free[number])
            self.end[items[mine]] = end
            self.start[items[mine]] = end - dur[mine]
            self.free[number] = int(end[-1])
            self.drained = max(self.drained, self.free[number])

    def _advance_one_by_one(self, items: Ints, available: Ints) -> None:
        """The same where streams hold so few items each that numpy gains nothing."""
        work, free, ends = self.work, self.free, []
        rows = (work.stream[items], work.lead[items], work.dur[items], available)
        for stream, lead, dur, ready in zip(*(row.tolist() for row in rows), strict=True):
            free[stream] = max(ready, free[stream] + lead) + dur
            ends.append(free[stream])
        self.end[items] = ends
        self.start[items] = self.end[items] - work.dur[items]
        self.drained = max(self.drained, *ends) if ends else self.drained

    def _by_stream(self, stream: Ints) -> Iterator[tuple[int, Ints | slice]]:
        """Each stream of these items and its places in them, in order."""
        if len(self.free) == 1:
            yield from [(0, slice(None))] if len(stream) else []
            return
        order = np.argsort(stream, kind="stable")
        cuts = np.flatnonzero(np.diff(stream[order])) + 1
        for mine in np.split(order, cuts) if len(order) else []:
            yield int(stream[mine[0]]), mine

    def _wait_at(self, point: int) -> None:
        target = int(self.points.target[point])
        if target != NOTHING:
            done = self.drained if target == ALL_WORK else int(self.end[target])
            self.now = max(self.now, done + int(self.points.wake[point]))
            self.point[point] = self.now

    def run_points(self, first: int, last: int) -> None:
        """One stretch point by point, on plain lists: indexed singly they are faster."""
        launch, wait = int(PointKind.LAUNCH), int(PointKind.WAIT)
        kinds = self.points.kind[first:last].tolist()
        hosts = self.host[first:last].tolist()
        targets = self.points.target[first:last]
        wakes = self.points.wake[first:last].tolist()
        enqueue = _Enqueue(self, targets[self.points.kind[first:last] == launch])
        now, times = self.now, []
        for kind, host, target, wake in zip(kinds, hosts, targets.tolist(), wakes, strict=True):
            now += host
            if kind == launch:
                now = enqueue(target, now)
            elif kind == wait and target != NOTHING:
                done = self.drained if target == ALL_WORK else enqueue.end_of(target)
                now = max(now, done + wake)
            times.append(now)
        enqueue.store()
        self.point[first:last] = times
        self.now = now


class _Enqueue:
    """Enqueues the items of one stretch; items of earlier stretches are read from the state."""

    def __init__(self, state: _State, items: Ints) -> None:
        self.state = state
        self.items = items
        self.begin = int(items[0]) if len(items) else 0
        work = state.work
        self.rows = list(
            zip(
                work.stream[items].tolist(),
                work.latency[items].tolist(),
                work.lead[items].tolist(),
                work.dur[items].tolist(),
                work.after[items].tolist(),
                strict=True,
            )
        )
        self.starts: list[int] = []
        self.ends: list[int] = []

    def end_of(self, item: int) -> int:
        """End of an item enqueued before now (of the last repetition when not yet enqueued)."""
        index = item - self.begin
        return self.ends[index] if 0 <= index < len(self.ends) else int(self.state.end[item])

    def __call__(self, item: int, now: int) -> int:
        """Enqueue the next item; the host time after it, later than ``now`` on a full queue."""
        state = self.state
        if state.limit <= len(state.end):
            now = max(now, self.end_of(item - state.limit))
        stream, latency, lead, dur, after = self.rows[len(self.ends)]
        begin = max(now + latency, state.free[stream] + lead)
        if after != NOTHING:
            begin = max(begin, self.end_of(after))
        self.starts.append(begin)
        state.free[stream] = begin + dur
        state.drained = max(state.drained, begin + dur)
        self.ends.append(begin + dur)
        return now

    def store(self) -> None:
        """Write the stretch back."""
        self.state.start[self.items] = self.starts
        self.state.end[self.items] = self.ends
