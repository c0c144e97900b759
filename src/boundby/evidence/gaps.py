"""Idle intervals of the device, and what each of them was spent waiting for.

An interval belongs to what kept the next work from running for most of it: the host, until it had
launched that work, by what it did meanwhile; from then on the device itself (another stream, the
start of a kernel). A copy that holds the host is a wait. A host that had been waiting when the
device ran dry could have been ahead by as long as it waited; so much of its work counts for the
wait.
"""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

from boundby.frozen import frozen
from boundby.intervals import EMPTY, Intervals, Ints, merge, subtract, union
from boundby.read.recording import NONE
from boundby.timeline.blocking import blocking_copies
from boundby.timeline.hostline import LineKind
from boundby.timeline.timeline import Timeline
from boundby.units import NS_PER_US

GapOwner = Literal["data", "sync", "python", "submission", "profiler", "device"]
OWNERS: tuple[GapOwner, ...] = get_args(GapOwner)
DATA, SYNC, PYTHON, SUBMISSION, PROFILER, DEVICE = range(len(OWNERS))

CLOCK_TOLERANCE = 2 * NS_PER_US
"""How far host and device clocks may disagree about the end of awaited work."""

KINDS_OF = {
    DATA: (LineKind.LOADER,),
    SYNC: (LineKind.SYNC, LineKind.CARRIER),
    PYTHON: (LineKind.PYTHON,),
    SUBMISSION: (LineKind.LAUNCH, LineKind.OP, LineKind.ALLOCATOR),
    PROFILER: (LineKind.OVERHEAD,),
}
"""Host time by owner, as the waterfall groups it."""


@frozen
class Gaps:
    """Idle intervals of one device, rising.

    Attributes:
        start, end: int64[n] ns.
        owner: int8[n] index into OWNERS.
    """

    start: Ints
    end: Ints
    owner: npt.NDArray[np.int8]

    def __len__(self) -> int:
        return len(self.start)

    def total(self) -> dict[GapOwner, int]:
        """Idle ns by owner; owners of nothing are left out."""
        summed = np.bincount(self.owner, self.end - self.start, minlength=len(OWNERS))
        return {OWNERS[at]: int(ns) for at, ns in enumerate(summed.tolist()) if ns}


def find_gaps(timeline: Timeline, start: int, end: int) -> Gaps:
    """Idle intervals inside a window (ns) with their owners; none where no device was recorded."""
    if not timeline.has_device_work:
        return Gaps(EMPTY, EMPTY, np.zeros(0, dtype=np.int8))
    window = Intervals(np.array([start]), np.array([end]))
    idle = subtract(window, timeline.busy.all)
    inside = (idle.start >= start) & (idle.end <= end)
    begin, finish = idle.start[inside], idle.end[inside]
    if not len(begin):
        return Gaps(begin, finish, np.zeros(0, dtype=np.int8))
    calls = _next_calls(timeline, begin, finish)
    credit = _credits(timeline, begin, finish, calls)
    return Gaps(begin, finish, np.argmax(credit, axis=1).astype(np.int8))


@frozen
class _Calls:
    """The call that launched the work after each interval; the interval's end where none is known.

    Attributes:
        start, end: int64[n] ns.
        holds: bool[n] whether it is a copy that holds the host.
    """

    start: Ints
    end: Ints
    holds: npt.NDArray[np.bool_]


def _next_calls(timeline: Timeline, begin: Ints, finish: Ints) -> _Calls:
    launches, rows = timeline.launches, timeline.rows
    follows = np.searchsorted(timeline.recording.device.start[rows], finish)
    found = follows < len(rows)
    call = np.full(len(finish), NONE, dtype=np.int64)
    call[found] = launches.of_row[rows[follows[found]]]
    known = call != NONE
    start, end, holds = finish.copy(), finish.copy(), np.zeros(len(finish), dtype=np.bool_)
    start[known], end[known] = launches.start[call[known]], launches.end[call[known]]
    holds[known] = blocking_copies(timeline)[call[known]]
    return _Calls(np.clip(start, begin, finish), end, holds)


def _credits(
    timeline: Timeline, begin: Ints, finish: Ints, calls: _Calls
) -> npt.NDArray[np.float64]:
    """float64[n, len(OWNERS)] ns of each interval that each owner answers for."""
    until = np.where(calls.holds, calls.start, np.clip(calls.end, begin, finish))
    time = timeline.line.time_by_kind(begin, until)
    time[:, LineKind.SYNC] += np.where(calls.holds, finish - until, 0)
    by_host = [time[:, list(kinds)].sum(axis=1) for kinds in KINDS_OF.values()]
    by_device = np.where(calls.holds, 0, finish - until)
    credit = np.stack([*by_host, by_device], axis=1).astype(np.float64)
    work = credit[:, PYTHON] + credit[:, SUBMISSION]
    ahead = np.minimum(_waited_before(timeline, begin), work)
    kept = np.divide(work - ahead, work, out=np.zeros_like(work), where=work > 0)
    credit[:, SYNC] += ahead
    credit[:, PYTHON] *= kept
    credit[:, SUBMISSION] *= kept
    return credit


def _waited_before(timeline: Timeline, begin: Ints) -> Ints:
    """How long the host had been waiting when each interval began, ns; 0 where it did not wait."""
    waits = _waits(timeline)
    if not len(waits.start):
        return np.zeros(len(begin), dtype=np.int64)
    at = np.searchsorted(waits.start, begin + CLOCK_TOLERANCE, side="right") - 1
    held = (at >= 0) & (waits.end[np.maximum(at, 0)] >= begin - CLOCK_TOLERANCE)
    return np.where(held, np.maximum(begin - waits.start[np.maximum(at, 0)], 0), 0)


def _waits(timeline: Timeline) -> Intervals:
    """When the host waits for the device, copies that hold it included."""
    covered = timeline.line.covered
    waits = subtract(covered[LineKind.CARRIER], covered[LineKind.OVERHEAD])
    holding = blocking_copies(timeline)
    launches = timeline.launches
    return merge(waits, union(launches.start[holding], launches.end[holding]))
