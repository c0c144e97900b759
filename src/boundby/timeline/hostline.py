"""The logical host line: what the submitting threads are doing at every instant.

Main and autograd thread take turns, so they form one line. At each instant the line belongs to
the first kind, in the order of ``LineKind``, that covers it on any submitting thread; what no
event covers is Python. Each kind is kept as the union of itself and all kinds before it, so the
time of a kind inside any window is a difference of covered lengths.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from enum import IntEnum

import numpy as np
import numpy.typing as npt

from boundby.distribution import distinct
from boundby.frozen import frozen
from boundby.intervals import EMPTY, Intervals, Ints, merge, union
from boundby.read.recording import HostKind, Recording
from boundby.timeline.calls import SYNC_KINDS, CallKind
from boundby.timeline.launches import Launches
from boundby.timeline.steps import LOADER


class LineKind(IntEnum):
    """Owners of host time, strongest claim first."""

    OVERHEAD = 0
    """The profiler's own work."""
    SYNC = 1
    """A call that waits for the device, and the Python frame that exists only to wait."""
    CARRIER = 2
    """The operator that exists only to wait, with the views it is given."""
    ALLOCATOR = 3
    LOADER = 4
    LAUNCH = 5
    """Launch calls."""
    OP = 6
    """Operators, and calls inside them that launch nothing."""
    PYTHON = 7
    """What nothing else covers: interpreter, framework glue, the user's own code."""


KINDS = len(LineKind)
Bools = npt.NDArray[np.bool_]

WAIT_CARRIERS = frozenset(
    {"aten::item", "aten::_local_scalar_dense", "aten::is_nonzero", "aten::equal"}
)
"""Operators whose whole purpose is to bring a value to the host."""
VIEWS = frozenset(
    f"aten::{name}"
    for name in ("select", "slice", "as_strided", "view", "detach", "squeeze", "reshape", "index")
) | {"detach", "detach_"}
"""Operators that only say which value is read when they come right before a carrier."""
TOUCHING = 30_000
"""Longest time, ns, between the end of such a view and what follows it, profiler included."""
MOST_VIEWS = 4
"""Views of one read that are looked for: ``x[0, 1, 2].item()`` makes three."""
WAITING_FRAME = re.compile(
    r"torch/(cuda|xpu|accelerator)/\w+\.py\(\d+\): (synchronize|wait)$"
    r"|^<built-in method (item|_cuda_synchronize|synchronize) of "
)
"""Python frames that exist only to wait, as Kineto writes them."""


@frozen
class HostLine:
    """Coverage of the logical host line.

    Attributes:
        threads: Indices of the submitting threads.
        covered: One Intervals per LineKind but PYTHON; entry k covers kinds 0..k.
    """

    threads: Ints
    covered: tuple[Intervals, ...]

    def time_by_kind(self, start: Ints, end: Ints) -> npt.NDArray[np.int64]:
        """int64[n, KINDS] ns of each kind inside each window ``[start, end)``."""
        upto = np.stack([c.within(start, end) for c in self.covered] + [end - start], axis=1)
        return np.diff(upto, axis=1, prepend=0)


def build_host_line(
    recording: Recording, launches: Launches, calls: npt.NDArray[np.int8]
) -> HostLine:
    """The host line of the threads that submit work (or, without any, of the main thread).

    Args:
        calls: int8 CallKind of every name, from ``classify_names``.
    """
    threads = submitting_threads(recording, launches)
    host = recording.host
    mine = np.isin(host.thread, threads)
    call = np.where(host.kind == HostKind.CALL, calls[host.name], CallKind.OTHER)
    is_launch = np.zeros(len(host), dtype=bool)
    is_launch[launches.row] = True
    named = _rows_named(recording)
    select = {
        LineKind.OVERHEAD: host.kind == HostKind.OVERHEAD,
        LineKind.SYNC: mine & (np.isin(call, SYNC_KINDS) | (call == CallKind.BLOCKING_COPY)),
        LineKind.CARRIER: mine & named["carrier"],
        LineKind.ALLOCATOR: mine & (call == CallKind.ALLOCATOR),
        LineKind.LOADER: mine & named["loader"],
        LineKind.LAUNCH: mine & is_launch,
        LineKind.OP: mine
        & ((host.kind == HostKind.OP) | (host.kind == HostKind.CALL))
        & ~named["step"],
    }
    covered: list[Intervals] = []
    for kind in list(LineKind)[:-1]:
        rows = select[kind]
        own = union(host.start[rows], host.end[rows])
        if kind == LineKind.SYNC:
            own = merge(own, _waiting_frames(recording, threads))
        if kind == LineKind.CARRIER:
            own = merge(own, _views_before(recording, own, mine & named["view"], launches))
        covered.append(merge(covered[-1], own) if covered else own)
    return HostLine(threads, tuple(covered))


def submitting_threads(recording: Recording, launches: Launches) -> Ints:
    """Threads that launched device work, with the thread of the steps; int64, sorted."""
    threads = set(distinct(launches.thread).tolist())
    if recording.main_thread >= 0:
        threads.add(recording.main_thread)
    elif not threads and len(recording.host):
        threads.add(int(np.bincount(recording.host.thread).argmax()))
    return np.array(sorted(threads), dtype=np.int64)


def _rows_named(recording: Recording) -> dict[str, Bools]:
    """Which host rows carry a wait, load data, or are a step range, by their name."""
    tests: dict[str, Callable[[str], bool]] = {
        "carrier": WAIT_CARRIERS.__contains__,
        "view": VIEWS.__contains__,
        "loader": lambda name: bool(LOADER.search(name)),
        "step": lambda name: name.startswith("ProfilerStep#"),
    }
    return {key: rows_where(recording, test) for key, test in tests.items()}


def rows_where(recording: Recording, test: Callable[[str], bool]) -> Bools:
    """bool[len(host)]: host rows whose name passes a test; each distinct name is tested once."""
    flags = np.fromiter(map(test, recording.names), dtype=np.bool_, count=len(recording.names))
    return flags[recording.host.name] if len(flags) else np.zeros(0, dtype=np.bool_)


def _waiting_frames(recording: Recording, threads: Ints) -> Intervals:
    """Time inside Python functions that exist only to wait for the device."""
    frames, names = recording.python, recording.names
    if not len(frames):
        return Intervals(EMPTY, EMPTY)
    wanted = np.zeros(len(names), dtype=bool)
    for index in distinct(frames.name):
        wanted[index] = bool(WAITING_FRAME.search(names[index]))
    rows = wanted[frames.name] & np.isin(frames.thread, threads)
    return union(frames.start[rows], frames.end[rows])


def _views_before(
    recording: Recording, carriers: Intervals, view: Bools, launches: Launches
) -> Intervals:
    """The views right before each carrier, since the launch before it (``x[0, 1].item()``)."""
    rows = np.flatnonzero(view)
    if not len(rows) or not len(carriers.start):
        return Intervals(EMPTY, EMPTY)
    begin, end = recording.host.start[rows], recording.host.end[rows]
    order = np.argsort(end, kind="stable")
    begin, end = begin[order], end[order]
    launched = np.concatenate(([np.iinfo(np.int64).min], np.sort(launches.end)))
    since = launched[np.searchsorted(launched, carriers.start) - 1]
    reached = carriers.start.copy()
    for _ in range(MOST_VIEWS):
        last = np.searchsorted(end, reached, side="right") - 1
        found = np.maximum(last, 0)
        touches = (last >= 0) & (reached - end[found] <= TOUCHING) & (begin[found] > since)
        reached = np.where(touches, begin[found], reached)
    return union(reached, carriers.start)
