"""Rows of the lanes: what submitting threads ran, nested, and what the device ran, by stream."""

from __future__ import annotations

from enum import IntEnum

import numpy as np
import numpy.typing as npt

from boundby.evidence.facts import Place
from boundby.evidence.frames import UserFrames, user_frames
from boundby.frozen import frozen
from boundby.intervals import Ints
from boundby.read.recording import NONE, HostKind
from boundby.roofline.families import classify_kernels
from boundby.timeline.calls import SYNC_KINDS, CallKind
from boundby.timeline.hostline import WAIT_CARRIERS, rows_where
from boundby.timeline.nesting import enclosing, parents
from boundby.timeline.steps import LOADER
from boundby.timeline.timeline import Timeline

DEEPEST = 24
"""Levels of nesting that are kept: deeper ones are a library's own, and no screen shows them."""


class RowKind(IntEnum):
    """What a row of a host thread is."""

    OP = 0
    LAUNCH = 1
    WAIT = 2
    ALLOCATOR = 3
    CALL = 4
    """Any other call of the runtime or driver."""
    LOADER = 5
    RANGE = 6
    FRAME = 7
    """A function of the user's own code."""


@frozen
class HostRows:
    """What ran on the submitting threads, ordered by start inside the window.

    Attributes:
        start, dur: int64[n] ns.
        kind: int64[n] RowKind.
        name: int64[n] index into ``Recording.names``.
        thread: int64[n] index into ``Recording.threads``.
        depth: int64[n] rows around each on its thread.
        signature: int64[n] index into ``Recording.signatures``; NONE without one.
        place: int64[n] index into the places: the user's innermost function around each, or NONE.
        row: int64[n] row of ``Recording.host``; NONE of a frame.
    """

    start: Ints
    dur: Ints
    kind: Ints
    name: Ints
    thread: Ints
    depth: Ints
    signature: Ints
    place: Ints
    row: Ints

    def __len__(self) -> int:
        return len(self.start)

    def take(self, rows: Ints | npt.NDArray[np.bool_]) -> HostRows:
        """The same columns at some rows."""
        columns = (getattr(self, name)[rows] for name in self.__dataclass_fields__)
        return HostRows(*columns)


@frozen
class WorkRows:
    """What the device ran, ordered by start.

    Attributes:
        start, dur: int64[n] ns.
        family: int64[n] Family of the kernel, copy or memset.
        name: int64[n] index into ``Recording.names``.
        stream: int64[n] stream id as recorded.
        own: bool[n] whether the step that is drawn launched it.
        host: int64[n] index into the host rows of the call that launched it; NONE where not drawn.
    """

    start: Ints
    dur: Ints
    family: Ints
    name: Ints
    stream: Ints
    own: npt.NDArray[np.bool_]
    host: Ints

    def __len__(self) -> int:
        return len(self.start)


def host_rows(timeline: Timeline, start: int, end: int) -> tuple[HostRows, tuple[Place, ...], int]:
    """Rows that overlap the window, the places they name, and how many were nested too deep."""
    frames = user_frames(timeline.recording)
    rows = _host(timeline, start, end)
    rows = _joined(rows, _frames(timeline, frames, (start, end)), (start, end))
    begin, finish = _seen(rows, (start, end))
    rows.depth[:] = _depth(parents(begin, finish, rows.thread))
    rows.place[:] = _places(timeline, rows, frames)
    kept = rows.depth < DEEPEST
    return rows.take(kept), frames.places, int((~kept).sum())


def _host(timeline: Timeline, start: int, end: int) -> HostRows:
    """Operators, calls and ranges on the submitting threads."""
    host = timeline.recording.host
    inside = _inside(host.start, host.end, (start, end)) & (host.kind != HostKind.OVERHEAD)
    row = np.flatnonzero(inside & np.isin(host.thread, timeline.line.threads))
    blank = np.full(len(row), NONE, dtype=np.int64)
    return HostRows(
        start=host.start[row],
        dur=host.dur[row],
        kind=_kinds(timeline)[row],
        name=host.name[row].astype(np.int64),
        thread=host.thread[row].astype(np.int64),
        depth=blank.copy(),
        signature=host.signature[row].astype(np.int64),
        place=blank,
        row=row,
    )


def _inside(start: Ints, end: Ints, window: tuple[int, int]) -> npt.NDArray[np.bool_]:
    """Rows that overlap a window, but not those around all of it: they tell nothing apart."""
    first, last = window
    around = (start < first) & (end > last)
    return np.asarray((start < last) & (end > first) & ~around)


def _kinds(timeline: Timeline) -> Ints:
    """int64[len(host)] RowKind of every host row."""
    recording = timeline.recording
    host = recording.host
    call = np.where(host.kind == HostKind.CALL, timeline.calls[host.name], NONE)
    launches = np.zeros(len(host), dtype=np.bool_)
    launches[timeline.launches.row] = True
    waits = np.isin(call, (*SYNC_KINDS, CallKind.BLOCKING_COPY))
    waits |= rows_where(recording, WAIT_CARRIERS.__contains__)
    loads = rows_where(recording, lambda name: bool(LOADER.search(name)))
    tests = (launches, waits, call == CallKind.ALLOCATOR, call != NONE, loads)
    kinds = (RowKind.LAUNCH, RowKind.WAIT, RowKind.ALLOCATOR, RowKind.CALL, RowKind.LOADER)
    other = np.where(host.kind == HostKind.RANGE, RowKind.RANGE, RowKind.OP)
    return np.select(tests, kinds, default=other).astype(np.int64)


def _frames(timeline: Timeline, frames: UserFrames, window: tuple[int, int]) -> HostRows:
    """The user's functions on the submitting threads."""
    mine = np.isin(frames.thread, timeline.line.threads)
    at = np.flatnonzero(mine & _inside(frames.start, frames.end, window))
    blank = np.full(len(at), NONE, dtype=np.int64)
    return HostRows(
        start=frames.start[at],
        dur=frames.end[at] - frames.start[at],
        kind=np.full(len(at), RowKind.FRAME, dtype=np.int64),
        name=blank,
        thread=frames.thread[at],
        depth=blank.copy(),
        signature=blank,
        place=frames.place[at],
        row=blank,
    )


def _seen(rows: HostRows, window: tuple[int, int]) -> tuple[Ints, Ints]:
    """The part of each row inside a window: one that began before it lies beside what begins it."""
    first, last = window
    return np.maximum(rows.start, first), np.minimum(rows.start + rows.dur, last)


def _joined(first: HostRows, second: HostRows, window: tuple[int, int]) -> HostRows:
    """Rows of both, ordered by where they are seen to start, the longer one of two first."""
    names = tuple(HostRows.__dataclass_fields__)
    both = HostRows(
        *(np.concatenate((getattr(first, name), getattr(second, name))) for name in names)
    )
    begin, finish = _seen(both, window)
    return both.take(np.lexsort((begin - finish, begin)))


def _depth(parent: Ints) -> Ints:
    """Rows around each row."""
    depth = np.zeros(len(parent), dtype=np.int64)
    holder = parent.copy()
    while (held := holder != NONE).any():
        depth += held
        holder = np.where(held, parent[np.maximum(holder, 0)], NONE)
    return depth


def _places(timeline: Timeline, rows: HostRows, frames: UserFrames) -> Ints:
    """The user's innermost function around each row; on a helper thread, where main waits."""
    place = rows.place.copy()
    if not len(frames):
        return place
    columns = frames.start, frames.end, frames.thread
    for thread in (None, timeline.recording.main_thread):
        open_ = np.flatnonzero(place == NONE)
        at = rows.thread[open_] if thread is None else np.full(len(open_), thread, dtype=np.int64)
        found = enclosing(columns, frames.parent, rows.start[open_], at)
        known = found != NONE
        place[open_[known]] = frames.place[found[known]]
    return place


def work_rows(
    timeline: Timeline, host: HostRows, window: tuple[int, int], step: int | None
) -> WorkRows:
    """Kernels, copies and memsets that overlap the window."""
    work, names = timeline.recording.device, timeline.recording.names
    start, end = window
    at = np.flatnonzero((work.start[timeline.rows] < end) & (work.end[timeline.rows] > start))
    row = timeline.rows[at]
    own = timeline.row_step[at] == step if step is not None else timeline.row_step[at] != NONE
    return WorkRows(
        start=work.start[row],
        dur=work.dur[row],
        family=classify_kernels(names, work.name[row])[work.name[row]].astype(np.int64),
        name=work.name[row].astype(np.int64),
        stream=work.stream[row],
        own=own,
        host=_launchers(timeline, host, row),
    )


def _launchers(timeline: Timeline, host: HostRows, row: Ints) -> Ints:
    """Index into the host rows of the call behind each device row."""
    launch = timeline.launches.of_row[row]
    where = np.full(len(timeline.recording.host), NONE, dtype=np.int64)
    known = np.flatnonzero(host.row != NONE)
    where[host.row[known]] = known
    found = np.full(len(row), NONE, dtype=np.int64)
    joined = launch != NONE
    found[joined] = where[timeline.launches.row[launch[joined]]]
    return found
