"""Reads what ``nsys export --type sqlite`` writes, schemas 2.x and 3.x, into a Recording."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from boundby.distribution import distinct
from boundby.errors import UnreadableError
from boundby.read import duplicates
from boundby.read import nsight_systems_device as device_rows
from boundby.read import nsight_systems_host as host_rows
from boundby.read import nsight_systems_notes as notes
from boundby.read.clock import drop_misdated, drop_overlong
from boundby.read.columns import GrowingTable, Interner, Table, length, take
from boundby.read.losses import Losses, loss_findings
from boundby.read.nsight_systems_file import Export, open_export
from boundby.read.nsight_systems_process import (
    Process,
    Work,
    choose_process,
    device_work,
    other_processes,
)
from boundby.read.nsight_systems_warmup import cut_warm_up
from boundby.read.quality import inspect
from boundby.read.recording import (
    NONE,
    Caliber,
    Device,
    DeviceEvents,
    HostEvents,
    HostKind,
    PythonEvents,
    Quality,
    Recording,
    Source,
    StreamWaits,
)
from boundby.read.rows import DEVICE_COLUMNS, PYTHON_COLUMNS, WAIT_COLUMNS

PROFILE_HINT = "nsys profile -t cuda,nvtx,osrt -o run python train.py"


@dataclass
class _Tables:
    """The rows of one process."""

    host: Table
    device: Table
    python: Table
    waits: Table

    def __iter__(self) -> Iterator[Table]:
        return iter((self.host, self.device, self.python, self.waits))


def read_nsight_systems(path: Path) -> Recording:
    """The recording of the busiest process in an export of Nsight Systems.

    Raises:
        UnreadableError: The file is no such export, is damaged, or holds no CUDA activity.
    """
    with open_export(path) as export:
        work = device_work(export)
        process = choose_process(export, work)
        if process is None:
            raise UnreadableError(
                f"{path}: No CUDA activity recorded: run nsys with -t cuda,nvtx,osrt", PROFILE_HINT
            )
        return _recording(path, export, process, work)


def _recording(path: Path, export: Export, process: Process, work: Work) -> Recording:
    host = host_rows.HostRows(Interner(), export.strings())
    tables, graphs = _read_tables(export, process, host)
    events = sum(map(length, tables))
    found = [
        other_processes(work, process),
        notes.newer_schema(export.metadata().get("EXPORT_SCHEMA_VERSION", "")),
        notes.whole_graphs(graphs),
        notes.open_ranges(host.open_ranges),
        *_clean(tables, host.names.values_in_order, events),
    ]
    origin, window = _move_to_origin(tables)
    threads = host_rows.threads(export, host)
    main = host_rows.main_thread(threads, tables.host)
    found.append(notes.os_waits(host.names.values_in_order, tables.host, main))
    devices = _devices(export, process, tables.device)
    recording = Recording(
        source=Source(str(path), "nsight-systems", path.stat().st_size, events),
        caliber=_caliber(devices, tables),
        quality=tuple(filter(None, found)),
        origin_ns=_session_start(export) + origin,
        window_ns=window,
        names=host.names.values_in_order,
        threads=threads,
        devices=devices,
        signatures=host.signatures.values,
        host=HostEvents(**tables.host),
        device=DeviceEvents(**tables.device),
        python=PythonEvents(**tables.python),
        waits=StreamWaits(**tables.waits),
        main_thread=main,
    )
    return inspect(recording)


def _read_tables(export: Export, process: Process, host: host_rows.HostRows) -> tuple[_Tables, int]:
    """All rows of a process, and how many of them are whole graphs."""
    calls = host_rows.add_calls(export, process, host)
    host_rows.add_ranges(export, process, host)
    host_rows.add_waits(export, process, host, calls)
    host_rows.add_overhead(export, process, host, calls)
    table = host.table.join()
    device, waits = GrowingTable(DEVICE_COLUMNS), GrowingTable(WAIT_COLUMNS)
    graphs = device_rows.add_device_rows(export, process, host, device)
    device_rows.add_waits(export, process, host, table, waits)
    python = GrowingTable(PYTHON_COLUMNS).join()
    return _Tables(table, device.join(), python, waits.join()), graphs


def _clean(tables: _Tables, names: list[str], events: int) -> tuple[Quality | None, ...]:
    """Order the rows and leave out what no step of the program is, in place; say what."""
    rows = length(tables.device)
    _keep_near_cuda(tables)
    losses = Losses(events=events, misdated=drop_misdated(*tables), device_rows=rows)
    losses = replace(losses, overlong=drop_overlong(tables.host, tables.device))
    duplicates.order_host(tables.host)
    duplicates.order_device(tables.device)
    duplicates.order_waits(tables.waits)
    warm_up = cut_warm_up(names, tables.host, tables.device, tables.waits)
    del tables.python["python_id"]
    return (*loss_findings(losses), warm_up)


def _keep_near_cuda(tables: _Tables) -> None:
    """Drop ranges and waits before and after the part of the program that uses the device."""
    first, last = _cuda_span(tables)
    start, end = tables.host["start"], tables.host["start"] + tables.host["dur"]
    take(tables.host, (end >= first) & (start <= last))


def _cuda_span(tables: _Tables) -> tuple[int, int]:
    """From the first call or device row to the end of the last, ns."""
    host, device = tables.host, tables.device
    calls = host["kind"] == HostKind.CALL
    starts = (host["start"][calls], device["start"])
    ends = ((host["start"] + host["dur"])[calls], device["start"] + device["dur"])
    first = min(int(each.min()) for each in starts if len(each))
    return first, max(int(each.max()) for each in ends if len(each))


def _move_to_origin(tables: _Tables) -> tuple[int, tuple[int, int]]:
    """Make the first row 0; the moved amount, and the span of CUDA calls and work after it, ns."""
    first, last = _cuda_span(tables)
    origin = min(int(table["start"][0]) for table in tables if length(table))
    for table in tables:
        table["start"] -= origin
    return origin, (first - origin, last - origin)


def _devices(export: Export, process: Process, device: Table) -> list[Device]:
    """The devices that have rows; CUDA's number of a device is not the system's."""
    cards = {
        number: Device(0, str(name or ""), _count(memory), _count(cores))
        for number, name, memory, cores in export.rows(
            "TARGET_INFO_GPU", "id", "name", "totalMemory", "smCount"
        )
    }
    card_of = {
        cuda: card
        for card, cuda, pid in export.rows("TARGET_INFO_CUDA_DEVICE", "gpuId", "cudaId", "pid")
        if pid == process.pid
    }
    unknown = Device(0, "")
    return [
        replace(cards.get(card_of.get(number, number), unknown), id=number)
        for number in distinct(device["device"]).tolist()
    ]


def _count(value: object) -> int:
    return value if isinstance(value, int) else 0


def _caliber(devices: list[Device], tables: _Tables) -> Caliber:
    has_ops = bool((tables.host["kind"] == HostKind.OP).any())
    has_shapes = bool((tables.host["signature"] != NONE).any())
    return Caliber(
        device=(devices[0].name or None) if devices else None,
        device_count=len(devices),
        record_shapes=has_shapes if has_ops else None,
        with_stack=False,
    )


def _session_start(export: Export) -> int:
    """Nanoseconds since 1970 of time 0 of the export; 0 where it is not told."""
    rows = export.rows("TARGET_INFO_SESSION_START_TIME", "utcEpochNs")
    return _count(rows[0][0]) if rows else 0
