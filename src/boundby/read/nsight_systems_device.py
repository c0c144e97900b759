"""Device rows of an export: kernels, whole graphs, copies, memsets, and recorded waits."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from boundby.read.columns import Array, GrowingTable, Table
from boundby.read.nsight_systems_file import Export, Source
from boundby.read.nsight_systems_host import HostRows
from boundby.read.nsight_systems_process import Process
from boundby.read.recording import NONE, DeviceKind, HostKind, Ints
from boundby.read.rows import DEVICE_COLUMNS, UNSIGNED_NONE

_ROW = {
    "start": "start",
    "end": "end",
    "device": "deviceId",
    "stream": "streamId",
    "correlation": "correlationId",
}
_KERNEL = {
    "blocks": ("gridX", "gridY", "gridZ"),
    "threads": ("blockX", "blockY", "blockZ"),
}
_DIRECTIONS = {
    1: "HtoD", 2: "DtoH", 3: "HtoA", 4: "AtoH", 5: "AtoA", 6: "AtoD", 7: "DtoA", 8: "DtoD",
    9: "HtoH", 10: "PtoP", 11: "HtoD", 12: "DtoH", 13: "DtoD",
}  # fmt: skip
"""``copyKind`` (ENUM_CUDA_MEMCPY_OPER); from 11 on migrations of unified memory."""
_FIRST_UNIFIED = 11
_MEMORIES = {
    0: "Pageable", 1: "Pinned", 2: "Device", 3: "Array", 4: "Managed", 5: "Device", 6: "Managed",
}  # fmt: skip
"""``srcKind``, ``dstKind`` and ``memKind`` (ENUM_CUDA_MEM_KIND)."""
_UNKNOWN_MEMORY = 7
_SYNC_NAMES = {1: "Event Sync", 2: "Stream Wait Event", 3: "Stream Sync", 4: "Context Sync"}
"""``syncType`` (ENUM_CUPTI_SYNC_TYPE), used where the call itself is not recorded: exports of
schema 2 number the types otherwise."""
_SYNC_OF_CALL = {
    "StreamWaitEvent": "Stream Wait Event",
    "EventSynchronize": "Event Sync",
    "StreamSynchronize": "Stream Sync",
    "DeviceSynchronize": "Context Sync",
    "CtxSynchronize": "Context Sync",
}
_CORRELATION_SPAN = 1 << 32


def add_device_rows(export: Export, process: Process, host: HostRows, rows: GrowingTable) -> int:
    """Add all device rows; how many of them are whole graphs whose kernels are not known."""
    kernels = _read(export, "KERNEL", process, {**_KERNEL, "name": _kernel_name(export)})
    name = host.name_of(kernels.pop("name"))
    _append(rows, kernels, DeviceKind.KERNEL, name)
    graphs = _graphs(export, process, kernels["correlation"])
    _append(rows, graphs, DeviceKind.KERNEL, _graph_names(host, graphs.pop("graph")))
    kinds = {"kind": "copyKind", "from": "srcKind", "to": "dstKind", "size": "bytes"}
    copies = _read(export, "MEMCPY", process, kinds)
    name = _copy_names(host, copies.pop("kind"), copies.pop("from"), copies.pop("to"))
    _append(rows, copies, DeviceKind.COPY, name)
    memsets = _read(export, "MEMSET", process, {"kind": "memKind", "size": "bytes"})
    name = _named(host, memsets.pop("kind"), memset_name)
    _append(rows, memsets, DeviceKind.MEMSET, name)
    return len(graphs["start"])


def _kernel_name(export: Export) -> str:
    table = "CUPTI_ACTIVITY_KIND_KERNEL"
    return "demangledName" if export.has(table, "demangledName") else "shortName"


def _read(
    export: Export, kind: str, process: Process, more: Mapping[str, Source]
) -> dict[str, Array]:
    table = f"CUPTI_ACTIVITY_KIND_{kind}"
    rows = export.columns(table, {**_ROW, **more}, *process.of_device_rows())
    keep = (rows["end"] >= rows["start"]) & (rows["end"] > 0)
    rows = {key: column[keep] for key, column in rows.items()}
    rows["correlation"][rows["correlation"] == 0] = NONE
    return rows


def _append(rows: GrowingTable, found: dict[str, Array], kind: DeviceKind, name: Array) -> None:
    count = len(found["start"])
    none = np.full(count, NONE, dtype=np.int64)
    columns = {key: found.get(key, none) for key in DEVICE_COLUMNS}
    columns["dur"] = found["end"] - found["start"]
    columns["kind"] = np.full(count, kind, dtype=np.int8)
    columns["name"] = name
    rows.append(columns)


def _graphs(export: Export, process: Process, launched: Ints) -> dict[str, Array]:
    """Graph launches recorded as one row each, but for those whose kernels are there as well."""
    rows = _read(export, "GRAPH_TRACE", process, {"graph": "graphId"})
    keep = ~np.isin(rows["correlation"], launched)
    return {key: column[keep] for key, column in rows.items()}


def _graph_names(host: HostRows, graphs: Ints) -> Array:
    return _named(host, graphs, lambda graph: f"CUDA graph {graph}" if graph >= 0 else "CUDA graph")


def _copy_names(host: HostRows, kind: Ints, source: Ints, target: Ints) -> Array:
    key = (np.maximum(kind, 0) << 16) | (_known(source) << 8) | _known(target)
    return _named(host, key, lambda one: copy_name(one >> 16, one >> 8 & 255, one & 255))


def _known(memory: Ints) -> Ints:
    return np.where((memory >= 0) & (memory < _UNKNOWN_MEMORY), memory, _UNKNOWN_MEMORY)


def copy_name(kind: int, source: int, target: int) -> str:
    """A copy spelled as other recordings spell it: ``Memcpy HtoD (Pageable -> Device)``."""
    words = ["Memcpy", _DIRECTIONS.get(kind, "")]
    if kind >= _FIRST_UNIFIED:
        words.insert(1, "Unified")
    elif source in _MEMORIES and target in _MEMORIES:
        words.append(f"({_MEMORIES[source]} -> {_MEMORIES[target]})")
    return " ".join(filter(None, words))


def memset_name(kind: int) -> str:
    """``Memset (Device)``."""
    return f"Memset ({_MEMORIES[kind]})" if kind in _MEMORIES else "Memset"


def _named(host: HostRows, keys: Ints, spell: Callable[[int], str]) -> Array:
    distinct, inverse = np.unique(keys, return_inverse=True)
    names = [host.names[spell(key)] for key in distinct.tolist()]
    return np.array(names, dtype=np.int32)[inverse.reshape(keys.shape)]


def add_waits(
    export: Export, process: Process, host: HostRows, calls: Table, rows: GrowingTable
) -> None:
    """Add recorded waits: of the host for device, stream or event, and of one stream for another.

    Args:
        calls: The host rows.
    """
    wanted = {**_ROW, "type": "syncType", "event": "eventId"}
    waits = export.columns("CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", wanted, *process.of_device_rows())
    keep = waits["end"] >= waits["start"]
    waits = {key: column[keep] for key, column in waits.items()}
    name = _wait_names(host, calls, waits)
    is_between = name == host.names["Stream Wait Event"]
    event, on_stream = _recorded_by(export, process, waits)
    rows.append(
        {
            "start": waits["start"],
            "dur": waits["end"] - waits["start"],
            "name": name,
            "stream": _stream(waits["stream"]),
            "on_stream": np.where(is_between, on_stream, NONE),
            "correlation": waits["correlation"],
            "event_correlation": event,
        }
    )


def _stream(stream: Ints) -> Ints:
    return np.where(stream == UNSIGNED_NONE, NONE, stream)


def _wait_names(host: HostRows, calls: Table, waits: dict[str, Array]) -> Array:
    """What each wait is, by the call it belongs to, else by its type."""
    is_call = calls["kind"] == HostKind.CALL
    correlation, name = calls["correlation"][is_call], calls["name"][is_call]
    order = np.argsort(correlation, kind="stable")
    spelled = [_wait_name(each) for each in host.names.values_in_order]
    by_name = np.array([host.names[each] if each else NONE for each in spelled], dtype=np.int32)
    fallback = _named(host, waits["type"], lambda kind: _SYNC_NAMES.get(kind, "Sync"))
    if not len(order):
        return fallback
    at = np.searchsorted(correlation[order], waits["correlation"])
    at = order[np.minimum(at, len(order) - 1)]
    stated = np.where(correlation[at] == waits["correlation"], by_name[name[at]], NONE)
    return np.where(stated == NONE, fallback, stated).astype(np.int32)


def _wait_name(call: str) -> str | None:
    for stem, name in _SYNC_OF_CALL.items():
        if call.startswith(("cuda" + stem, "cu" + stem)):
            return name
    return None


def _recorded_by(export: Export, process: Process, waits: dict[str, Array]) -> tuple[Ints, Ints]:
    """Correlation and stream of the last record of the event before each wait; NONE if unknown."""
    wanted = {"event": "eventId", "stream": "streamId", "correlation": "correlationId"}
    records = export.columns("CUPTI_ACTIVITY_KIND_CUDA_EVENT", wanted, *process.of_device_rows())
    none = np.full(len(waits["start"]), NONE, dtype=np.int64)
    if not len(records["event"]):
        return none, none
    key = records["event"] * _CORRELATION_SPAN + records["correlation"]
    order = np.argsort(key, kind="stable")
    asked = waits["event"] * _CORRELATION_SPAN + waits["correlation"]
    at = np.searchsorted(key[order], asked, side="right") - 1
    row = order[np.maximum(at, 0)]
    known = (at >= 0) & (records["event"][row] == waits["event"])
    known &= (waits["event"] != NONE) & (waits["event"] != UNSIGNED_NONE)
    return (
        np.where(known, records["correlation"][row], NONE),
        np.where(known, _stream(records["stream"][row]), NONE),
    )
