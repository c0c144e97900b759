"""Columns that the physics checks share, derived once from a Recording."""

from __future__ import annotations

import re

import numpy as np

from boundby.distribution import distinct
from boundby.frozen import frozen
from boundby.intervals import Intervals, union
from boundby.read.columns import Array
from boundby.read.recording import NONE, DeviceKind, HostKind, Ints, Recording

_LAUNCH = re.compile(r"Launch(?!HostFunc)|job_prep_and_submit")
_GRAPH_LAUNCH = re.compile(r"GraphLaunch")
_BLOCKING = re.compile(r"Synchronize|Memcpy")
_INCOMPLETE = ("bad-clock", "kernel-longer-than-recording", "truncated", "unreadable-events")
_BEGIN_CAPTURE = re.compile(r"StreamBeginCapture")
_END_CAPTURE = re.compile(r"StreamEndCapture")
_STEP = re.compile(r"^ProfilerStep#\d+$")
_TIMED = re.compile(r"^ProfilerStep#\d+$|DataLoader")


@frozen
class Facts:
    """Masks over ``recording.host`` and ``recording.device`` rows.

    Attributes:
        call: Host rows that are runtime or driver calls.
        launch: Calls that enqueue kernels by their name, graph launches included.
        graph_launch: Calls that replay a graph.
        blocking: Calls that wait for the device by their name; copies may.
        captured: Launches recorded into a graph instead of run.
        step: Ranges of ProfilerStep.
        label: Ranges that time nothing: of optimizers, the user's own; neither steps nor loading.
        has_work: Calls whose correlation a device row carries.
        call_of: For each device row the host row that launched it, NONE where none is recorded.
        kernel: Device rows that are kernels.
        busy: When any device was busy.
        span_ns: From the first to the last moment of the window and all rows.
    """

    recording: Recording
    call: Array
    launch: Array
    graph_launch: Array
    blocking: Array
    captured: Array
    step: Array
    label: Array
    has_work: Array
    call_of: Ints
    kernel: Array
    busy: Intervals
    span_ns: int

    @property
    def is_incomplete(self) -> bool:
        """Whether so many rows are known to be missing that their absence means nothing."""
        return any(
            finding.id in _INCOMPLETE and finding.severity == "fatal"
            for finding in self.recording.quality
        )


def derive_facts(recording: Recording) -> Facts:
    """The facts of a recording, in time linear in its rows (but for sorting)."""
    host, device = recording.host, recording.device
    call = host.kind == HostKind.CALL
    launch = call & _named(recording, _LAUNCH)
    return Facts(
        recording=recording,
        call=call,
        launch=launch,
        graph_launch=call & _named(recording, _GRAPH_LAUNCH),
        blocking=call & _named(recording, _BLOCKING),
        captured=launch & _within_capture(recording, call),
        step=(host.kind == HostKind.RANGE) & _named(recording, _STEP),
        label=(host.kind == HostKind.RANGE) & ~_named(recording, _TIMED),
        has_work=call & (host.correlation != NONE) & np.isin(host.correlation, device.correlation),
        call_of=_join(recording, call),
        kernel=device.kind == DeviceKind.KERNEL,
        busy=union(device.start, device.end),
        span_ns=_span(recording),
    )


def _named(recording: Recording, pattern: re.Pattern[str]) -> Array:
    """Mask of host rows whose name matches; each name is tried once."""
    matches = np.array([bool(pattern.search(name)) for name in recording.names] or [False])
    return np.asarray(matches[recording.host.name], dtype=bool)


def _within_capture(recording: Recording, call: Array) -> Array:
    """Mask of host rows between a begin and an end of stream capture on their thread."""
    host = recording.host
    change = (call & _named(recording, _BEGIN_CAPTURE)).astype(np.int64)
    change -= call & _named(recording, _END_CAPTURE)
    inside = np.zeros(len(host), dtype=bool)
    for thread in distinct(host.thread[change != 0]):
        rows = np.flatnonzero(host.thread == thread)
        inside[rows] = np.cumsum(change[rows]) > 0
    return inside


def _join(recording: Recording, call: Array) -> Ints:
    host, device = recording.host, recording.device
    rows = np.flatnonzero(call & (host.correlation != NONE))
    if not len(rows):
        return np.full(len(device), NONE, dtype=np.int64)
    rows = rows[np.argsort(host.correlation[rows], kind="stable")]
    known = host.correlation[rows]
    place = np.minimum(np.searchsorted(known, device.correlation), len(rows) - 1)
    return np.where(known[place] == device.correlation, rows[place], NONE)


def _span(recording: Recording) -> int:
    low, high = recording.window_ns
    for table in (recording.host, recording.device):
        if len(table):
            low = min(low, int(table.start.min()))
            high = max(high, int(table.end.max()))
    return high - low
