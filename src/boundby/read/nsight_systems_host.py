"""Host rows of an export: calls, NVTX ranges and operators, long waits, the profiler's own work."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import numpy as np

from boundby.distribution import distinct
from boundby.intervals import union
from boundby.read.columns import Array, GrowingTable, Interner, Table
from boundby.read.nsight_systems_file import Condition, Export
from boundby.read.nsight_systems_nvtx import Labels
from boundby.read.nsight_systems_process import CALL_TABLES, ID_SPAN, Process, process_id
from boundby.read.recording import NONE, HostKind, Ints, Thread
from boundby.read.rows import HOST_COLUMNS, Signatures
from boundby.units import NS_PER_US

LONG_WAIT_NS = 100 * NS_PER_US
"""Shorter waits of the operating system are part of any call; this is ten launches."""
_RANGE_EVENTS = (59, 60, 70, 71)
"""NvtxPushPopRange, NvtxStartEndRange and their forms in imported text (ENUM_NSYS_EVENT_TYPE)."""
_PROFILER_OVERHEAD = (3, 4, 5)
"""Buffer flush, instrumentation, resources (ENUM_CUPTI_OVERHEAD_TYPE); the other types, such as
lazy loading of a function, are CUDA's own and happen without a profiler too."""
_VERSION = re.compile(r"_v\d{4,5}(?=_|$)")
"""Version of a runtime call as nsys writes it: ``cudaLaunchKernel_v7000``."""
_OS_WAIT = re.compile(r"^(p?poll|p?select|epoll_p?wait|sem_\w*wait|read|recv\w*|\w*nanosleep)$")
"""Calls in which a thread waits for another process or a timer. Condition variables are left out:
with them the interpreter passes its lock and autograd's threads take turns."""
OS_WAIT_PREFIX = "os wait: "


@dataclass
class HostRows:
    """Host rows as they are collected.

    Attributes:
        names: Names of host and device rows alike.
        strings: The interned strings of the file by id.
        open_ranges: Ranges that the recording does not see end; they are left out.
    """

    names: Interner
    strings: dict[int, str]
    table: GrowingTable = field(default_factory=lambda: GrowingTable(HOST_COLUMNS))
    signatures: Signatures = field(default_factory=Signatures)
    threads: Interner = field(default_factory=Interner)
    open_ranges: int = 0

    def name_of(self, ids: Ints, spell: Callable[[str], str] = str) -> Array:
        """int32 names of string ids; unknown ids are named by their number."""
        distinct, inverse = np.unique(ids, return_inverse=True)
        spelled = [
            self.names[spell(self.strings.get(key, f"string {key}"))] for key in distinct.tolist()
        ]
        return np.array(spelled, dtype=np.int32)[inverse.reshape(ids.shape)]

    def thread_of(self, ids: Ints) -> Array:
        """int32 numbers of threads by their ``globalTid``."""
        distinct, inverse = np.unique(ids, return_inverse=True)
        numbers = [self.threads[key] for key in distinct.tolist()]
        return np.array(numbers, dtype=np.int32)[inverse.reshape(ids.shape)]

    def add(self, rows: dict[str, Array], kind: HostKind | Array, name: Array) -> None:
        """Rows with start, end and tid; other columns are NONE unless given."""
        count = len(rows["start"])
        none = np.full(count, NONE, dtype=np.int64)
        columns = {key: rows.get(key, none) for key in HOST_COLUMNS}
        columns |= {
            "dur": rows["end"] - rows["start"],
            "name": name,
            "kind": np.broadcast_to(np.asarray(kind, dtype=np.int8), count),
            "thread": self.thread_of(rows["tid"]),
        }
        self.table.append(columns)


_TIMED = {"start": "start", "end": "end", "tid": "globalTid"}


def _finished(rows: dict[str, Array]) -> dict[str, Array]:
    """The rows that end, after they start."""
    keep = rows["end"] >= rows["start"]
    return rows if keep.all() else {key: column[keep] for key, column in rows.items()}


def spell_call(name: str) -> str:
    """A call without the version of the interface (``cudaLaunchKernel_v7000``)."""
    return _VERSION.sub("", name)


def add_calls(export: Export, process: Process, host: HostRows) -> dict[str, Array]:
    """Add the runtime and driver calls; their start, end and thread for who needs them."""
    wanted = {**_TIMED, "correlation": "correlationId", "name": "nameId"}
    kept: list[dict[str, Array]] = []
    for table in CALL_TABLES:
        rows = _finished(export.columns(table, wanted, *process.of_host_rows()))
        rows["correlation"][rows["correlation"] == 0] = NONE
        host.add(rows, HostKind.CALL, host.name_of(rows.pop("name"), spell_call))
        kept.append(rows)
    return {key: np.concatenate([rows[key] for rows in kept]) for key in _TIMED}


def add_ranges(export: Export, process: Process, host: HostRows) -> None:
    """Add operators and ranges from NVTX."""
    table = "NVTX_EVENTS"
    if not export.has(table, "start", "end", "eventType", "globalTid"):
        return
    events = ", ".join(map(str, _RANGE_EVENTS))
    of_kind = (*process.of_host_rows(), Condition(f"eventType IN ({events})"))
    rows = export.columns(table, {**_TIMED, "text": "textId"}, *of_kind)
    inline = export.texts(table, "text", *of_kind) if export.has(table, "text") else []
    texts = _texts(host.strings, rows.pop("text"), inline)
    labels = Labels()
    known = [labels[text] for text in texts]
    done = rows["end"] >= rows["start"]
    keep = done & np.array([label is not None for label in known], dtype=bool)
    host.open_ranges += int((~done).sum())
    kept = [label for label, wanted in zip(known, keep.tolist(), strict=True) if label and wanted]
    rows = {key: column[keep] for key, column in rows.items()}
    number = host.signatures.number
    rows["sequence"] = np.array([label.sequence for label in kept], dtype=np.int64)
    rows["signature"] = np.array(
        [number(label.dims, b"", b"", b"") if label.dims else NONE for label in kept],
        dtype=np.int64,
    )
    kinds = np.array([label.kind for label in kept], dtype=np.int8)
    host.add(rows, kinds, np.array([host.names[label.name] for label in kept], dtype=np.int32))


def _texts(strings: dict[int, str], ids: Ints, inline: list[str | None]) -> Iterable[str]:
    """The text of each row: interned or, in older exports and for some rows, in the row itself."""
    if not inline:
        return [strings.get(key, "") for key in ids.tolist()]
    return [
        strings.get(key, "") if text is None else text
        for key, text in zip(ids.tolist(), inline, strict=True)
    ]


def add_waits(export: Export, process: Process, host: HostRows, calls: dict[str, Array]) -> None:
    """Add long waits of the operating system, by threads that use CUDA and outside of its calls."""
    wanted = {key for key, text in host.strings.items() if _OS_WAIT.match(text)}
    long = Condition("end - start >= ?", (LONG_WAIT_NS,))
    columns = {**_TIMED, "name": "nameId"}
    rows = export.columns("OSRT_API", columns, *process.of_host_rows(), long)
    mine = np.isin(rows["tid"], distinct(calls["tid"])) & np.isin(rows["name"], list(wanted))
    rows = {key: column[mine] for key, column in rows.items()}
    inside = union(calls["start"], calls["end"]).within(rows["start"], rows["end"])
    outside = inside * 2 < rows["end"] - rows["start"]
    rows = {key: column[outside] for key, column in rows.items()}
    host.add(rows, HostKind.RANGE, host.name_of(rows.pop("name"), OS_WAIT_PREFIX.__add__))


def add_overhead(export: Export, process: Process, host: HostRows, calls: dict[str, Array]) -> None:
    """Add what the profiler did on threads that use CUDA; its own threads cost the program none."""
    users = distinct(calls["tid"])
    for table in ("PROFILER_OVERHEAD", "CUPTI_ACTIVITY_KIND_OVERHEAD"):
        columns = {**_TIMED, "name": "nameId", "type": "overheadType"}
        rows = _finished(export.columns(table, columns, *process.of_host_rows()))
        mine = np.isin(rows["tid"], users)
        if table.startswith("CUPTI"):
            mine &= np.isin(rows["type"], _PROFILER_OVERHEAD)
        rows = {key: column[mine] for key, column in rows.items()}
        del rows["type"]
        host.add(rows, HostKind.OVERHEAD, host.name_of(rows.pop("name")))


def threads(export: Export, host: HostRows) -> list[Thread]:
    """The threads that have rows, with the names they gave themselves."""
    named = {
        key: host.strings.get(name, "")
        for name, key in export.rows("ThreadNames", "nameId", "globalTid")
        if isinstance(name, int) and isinstance(key, int)
    }
    return [
        Thread(str(process_id(key)), str(key % ID_SPAN), named.get(key, ""))
        for key in host.threads.values_in_order
    ]


def main_thread(found: list[Thread], table: Table) -> int:
    """The thread that carries the id of its process, if it has rows; else that with most calls."""
    count = np.bincount(table["thread"], minlength=len(found))
    for number, thread in enumerate(found):
        if thread.pid == thread.tid and count[number]:
            return number
    calls = table["thread"][table["kind"] == HostKind.CALL]
    return int(np.bincount(calls).argmax()) if len(calls) else NONE
