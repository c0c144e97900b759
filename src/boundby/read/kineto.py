"""Reads the JSON that torch.profiler exports (Kineto), of all eras, into a Recording."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np

from boundby.distribution import distinct
from boundby.errors import UnreadableError
from boundby.read import duplicates
from boundby.read.categories import Categories, Group
from boundby.read.clock import Misdated, drop_misdated, drop_overlong
from boundby.read.columns import Table, length
from boundby.read.events import Event, EventDecoder
from boundby.read.losses import Losses, loss_findings
from boundby.read.metadata import Metadata, rank_in_name, read_metadata
from boundby.read.quality import inspect
from boundby.read.recording import (
    NONE,
    Caliber,
    Device,
    DeviceEvents,
    DeviceKind,
    HostEvents,
    HostKind,
    PythonEvents,
    Recording,
    Source,
    StreamWaits,
    Thread,
)
from boundby.read.release import release_freed_memory
from boundby.read.rows import RowBuilder, decimal_ns
from boundby.read.slices import SLICE_BYTES, EventStream, NoEventsError
from boundby.read.stream import PIECE_BYTES, Pieces

RECORD_HINT = (
    "record again: torch.profiler.profile(...) and then export_chrome_trace('trace.json.gz')"
)
_STEP_PREFIX = "ProfilerStep"
_LAUNCH = "Launch"
_HOST_KINDS = {
    Group.OP: HostKind.OP,
    Group.CALL: HostKind.CALL,
    Group.RANGE: HostKind.RANGE,
    Group.OVERHEAD: HostKind.OVERHEAD,
}
_DEVICE_KINDS = {
    Group.KERNEL: DeviceKind.KERNEL,
    Group.COPY: DeviceKind.COPY,
    Group.MEMSET: DeviceKind.MEMSET,
}
_LEGACY_PROCESSES = {"CPU functions": Group.OP, "CUDA functions": Group.KERNEL}
_THREAD_NAME = "thread_name"


class _Collector:
    """Sorts the events of each slice by category and hands them to the row builder."""

    def __init__(self) -> None:
        self.rows = RowBuilder()
        self.events = 0
        self.unknown = 0
        self.window: tuple[int, int] | None = None
        self.thread_names: dict[tuple[str, str], str] = {}
        self._groups = Categories()
        self._paired: list[Event] = []

    def add(self, events: list[Event]) -> None:
        groups: list[list[Event]] = [[] for _ in Group]
        others: list[Event] = []
        group_of = self._groups
        for event in events:
            if event.ph == "X":
                groups[group_of[event.cat]].append(event)
            elif event.ph in "BEM":
                others.append(event)
        self.events += len(events)
        self._add_groups(groups)
        for event in others:
            if event.ph != "M":
                self._paired.append(event)
            elif event.name == _THREAD_NAME and isinstance(event.args.label, str):
                self.thread_names[str(event.pid), str(event.tid)] = event.args.label

    def _add_groups(self, groups: list[list[Event]]) -> None:
        for event in groups[Group.BARE]:
            groups[_LEGACY_PROCESSES.get(str(event.pid), Group.UNKNOWN)].append(event)
        self.unknown += len(groups[Group.UNKNOWN])
        for group, host_kind in _HOST_KINDS.items():
            if groups[group]:
                self.rows.add_host(groups[group], host_kind)
        for group, device_kind in _DEVICE_KINDS.items():
            if groups[group]:
                self.rows.add_device(groups[group], device_kind)
        if groups[Group.PYTHON]:
            self.rows.add_python(groups[Group.PYTHON])
        if groups[Group.WAIT]:
            self.rows.add_waits(groups[Group.WAIT])
        for event in groups[Group.WINDOW]:
            self._widen(event)

    def _widen(self, event: Event) -> None:
        start, dur = decimal_ns(event.ts), decimal_ns(event.dur)
        if start is None or dur is None:
            return
        low, high = self.window or (start, start + dur)
        self.window = min(low, start), max(high, start + dur)

    def finish(self) -> None:
        """Add what could only be known at the end: events written as a begin and an end."""
        if self._paired:
            complete = self.rows.add_pairs(self._paired)
            self._paired = []
            self.add(complete)
            self.events -= len(complete)


def read_kineto(path: Path, *, slice_bytes: int = SLICE_BYTES) -> Recording:
    """The recording in a Kineto JSON file, plain or gzip.

    Raises:
        UnreadableError: The file holds no event of a PyTorch profiler.
    """
    pieces = Pieces(path, min(slice_bytes, PIECE_BYTES))
    decoder = EventDecoder()
    stream = EventStream(iter(pieces), decoder, slice_bytes)
    collector = _Collector()
    _open(stream, path)
    for events in stream:
        collector.add(events)
    collector.finish()
    losses = Losses(
        is_cut_short=stream.cut_short or pieces.cut_short,
        has_window=collector.window is not None,
        events=collector.events,
        unreadable=stream.lost + decoder.unusable + collector.rows.untimed,
        mended=stream.mended,
        unknown=collector.unknown,
        signatures=collector.rows.signatures.refused,
    )
    recording = _recording(path, collector, read_metadata(stream.head, stream.tail), losses)
    del collector, stream, decoder
    release_freed_memory(recording.source.events)
    return recording


def _open(stream: EventStream, path: Path) -> None:
    try:
        stream.open()
    except NoEventsError as error:
        reasons = {
            "empty": f"{path} is empty",
            "not-json": f"{path} is not JSON, so it is no PyTorch profiler trace",
            "no-list": f"{path} is JSON, but holds no list of trace events",
        }
        raise UnreadableError(reasons[error.reason], RECORD_HINT) from error


def _require_rows(path: Path, collector: _Collector, tables: Iterator[Table]) -> None:
    if any(length(table) for table in tables):
        return
    if not collector.events:
        raise UnreadableError(
            f"{path} holds no events: its list of trace events is empty", RECORD_HINT
        )
    raise UnreadableError(
        f"{path} is no PyTorch profiler trace: none of its {collector.events} entries is an "
        "operator, call or kernel",
        RECORD_HINT,
    )


def _recording(path: Path, collector: _Collector, metadata: Metadata, losses: Losses) -> Recording:
    rows = collector.rows
    host, device, python, waits = (
        table.join() for table in (rows.host, rows.device, rows.python, rows.waits)
    )
    _require_rows(path, collector, iter((host, device, python, waits)))
    losses = replace(losses, device_rows=length(device), host_rows=length(host))
    misdated = drop_misdated(host, device, python, waits)
    overlong = drop_overlong(host, device)
    duplicates.order_host(host)
    duplicates.order_device(device)
    duplicates.order_python(python)
    duplicates.order_waits(waits)
    repeats = duplicates.drop_repeats(host, device, python, waits)
    del python["python_id"]
    origin, window = _move_to_origin((host, device, python, waits), collector.window, misdated)
    recording = Recording(
        source=Source(str(path), "kineto", path.stat().st_size, collector.events),
        caliber=_caliber(path, metadata, device, host, python),
        quality=loss_findings(
            replace(losses, misdated=misdated, overlong=overlong, repeats=repeats)
        ),
        origin_ns=metadata.base_ns + origin,
        window_ns=window,
        names=rows.names.values_in_order,
        threads=_threads(collector),
        devices=_devices(metadata, device),
        signatures=rows.signatures.values,
        host=HostEvents(**host),
        device=DeviceEvents(**device),
        python=PythonEvents(**python),
        waits=StreamWaits(**waits),
        main_thread=_main_thread(host, rows.names.values_in_order),
        extra={"hip": metadata.hip} if metadata.hip else {},
    )
    return inspect(recording)


def _move_to_origin(
    tables: tuple[Table, ...], stated: tuple[int, int] | None, misdated: Misdated
) -> tuple[int, tuple[int, int]]:
    """Make the first row or the stated window start at 0; the moved amount and the window, ns."""
    starts = [int(table["start"][0]) for table in tables if length(table)]
    ends = [int((table["start"] + table["dur"]).max()) for table in tables if length(table)]
    first, last = min(starts), max(ends)
    if stated is None or stated[1] < first or stated[0] > last or misdated.at_zero:
        stated = (first, last)
    origin = min(first, stated[0])
    for table in tables:
        table["start"] -= origin
    return origin, (stated[0] - origin, stated[1] - origin)


def _devices(metadata: Metadata, device: Table) -> list[Device]:
    known = {entry.id for entry in metadata.devices}
    used = [int(number) for number in distinct(device["device"]) if int(number) not in known]
    return [*metadata.devices, *(Device(number, "") for number in used)]


def _caliber(path: Path, metadata: Metadata, device: Table, host: Table, python: Table) -> Caliber:
    used = set(distinct(device["device"]).tolist())
    listed = [entry for entry in metadata.devices if entry.id in used] or list(metadata.devices)
    has_ops = bool((host["kind"] == HostKind.OP).any())
    has_shapes = bool((host["signature"] != NONE).any())
    return Caliber(
        device=(listed[0].name or None) if listed else None,
        device_count=len(used),
        cuda=metadata.cuda,
        rank=metadata.rank if metadata.rank is not None else rank_in_name(path.name),
        world_size=metadata.world_size,
        record_shapes=(metadata.record_shapes or has_shapes) if has_ops else metadata.record_shapes,
        with_stack=bool(metadata.with_stack or length(python)) if has_ops else metadata.with_stack,
    )


def _threads(collector: _Collector) -> list[Thread]:
    ids = collector.rows.threads.ids.values_in_order
    return [Thread(pid, tid, collector.thread_names.get((pid, tid), "")) for pid, tid in ids]


def _main_thread(host: Table, names: list[str]) -> int:
    """The thread with the steps, else with most launches, else with most operators, else NONE."""
    is_step = np.array([name.startswith(_STEP_PREFIX) for name in names], dtype=bool)
    is_launch = np.array([_LAUNCH in name for name in names], dtype=bool)
    kind = host["kind"]
    for rows in (
        (kind == HostKind.RANGE) & is_step[host["name"]],
        (kind == HostKind.CALL) & is_launch[host["name"]],
        kind == HostKind.OP,
        kind == HostKind.CALL,
    ):
        if rows.any():
            return int(np.bincount(host["thread"][rows]).argmax())
    return NONE
