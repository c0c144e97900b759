"""Tiny exports of Nsight Systems in a few readable calls: SQLite files of schema 2 or 3.

The only place in the tests that knows the tables. Times are microseconds. One process (100), its
main thread, device 0, stream 7 unless said otherwise::

    export = NsysExport()
    export.nvtx("step 0", at=0, dur=100)
    call = export.call("cudaLaunchKernel_v7000", at=12, dur=5)
    export.kernel("gemm", at=20, dur=30, launch=call)
    path = export.write(tmp_path / "run.sqlite")
"""

import gzip
import sqlite3
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from boundby.read.recording import NONE, DeviceKind, HostKind, Recording

US = 1000
PROCESS = 100
MACHINE = 1 << 48
STREAM = 7
UNSIGNED_NONE = 0xFFFFFFFF
PUSH_POP, START_END, MARK = 59, 60, 34
COPY_KINDS = {"HtoD": 1, "DtoH": 2, "DtoD": 8, "PtoP": 10}
MEMORY = {"Pageable": 0, "Pinned": 1, "Device": 2}
H200 = {"id": 0, "name": "NVIDIA H200", "totalMemory": 150109880320, "smCount": 132}

ACTIVITY = "CUPTI_ACTIVITY_KIND_"
_ROW = "start end deviceId contextId streamId correlationId globalPid"
TABLES: dict[str, str] = {
    "StringIds": "id value",
    "TARGET_INFO_GPU": "id name totalMemory smCount",
    "TARGET_INFO_CUDA_DEVICE": "gpuId cudaId pid",
    "TARGET_INFO_SESSION_START_TIME": "utcEpochNs utcTime localTime",
    "ThreadNames": "nameId priority globalTid",
    f"{ACTIVITY}RUNTIME": "start end eventClass globalTid correlationId nameId returnValue",
    f"{ACTIVITY}KERNEL": f"{_ROW} demangledName shortName mangledName gridX gridY gridZ blockX "
    "blockY blockZ graphNodeId",
    f"{ACTIVITY}MEMCPY": f"{_ROW} bytes copyKind srcKind dstKind graphNodeId",
    f"{ACTIVITY}MEMSET": f"{_ROW} value bytes graphNodeId memKind",
    f"{ACTIVITY}GRAPH_TRACE": f"{_ROW} graphId graphExecId",
    f"{ACTIVITY}SYNCHRONIZATION": f"{_ROW} syncType eventId",
    f"{ACTIVITY}CUDA_EVENT": "deviceId contextId streamId correlationId globalPid eventId",
    f"{ACTIVITY}OVERHEAD": "start end globalTid correlationId nameId overheadType",
    "PROFILER_OVERHEAD": "start end globalTid nameId overheadType",
    "NVTX_EVENTS": "start end eventType rangeId domainId text globalTid endGlobalTid textId",
    "OSRT_API": "start end eventClass globalTid nameId returnValue callchainId",
}
"""Columns by table, as published, as far as any reader needs them."""
IN_SCHEMA_2 = {
    f"{ACTIVITY}MEMSET": f"{_ROW} value bytes",
    "PROFILER_OVERHEAD": "start end globalTid nameId",
}
ONLY_SCHEMA_3 = {f"{ACTIVITY}OVERHEAD", "TARGET_INFO_CUDA_DEVICE"}
TEXT_COLUMNS = {"value", "name", "text", "utcTime", "localTime"}
META = {2: "EXPORT_META_DATA", 3: "META_DATA_EXPORT"}


def thread_id(process: int = PROCESS, thread: int | None = None) -> int:
    """A serialized ``globalTid``; the main thread has the number of its process."""
    return MACHINE | process << 24 | (process if thread is None else thread)


def process_id(process: int = PROCESS) -> int:
    """A serialized ``globalPid``."""
    return MACHINE | process << 24


def ns(us: float) -> int:
    return round(us * US)


@dataclass
class NsysExport:
    """Rows by table. Calls return their correlation, for ``launch=``."""

    schema: int = 3
    rows: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    strings: dict[str, int] = field(default_factory=dict)
    version: str = ""
    last: int = 0

    def add(self, table: str, **columns: Any) -> None:
        """Any row; columns that are not named are NULL."""
        self.rows.setdefault(table, []).append(columns)

    def string(self, text: str) -> int:
        """The id of an interned string."""
        return self.strings.setdefault(text, len(self.strings) + 1)

    def gpu(self, **card: Any) -> None:
        """A device of the machine; an H200 unless said otherwise."""
        self.add("TARGET_INFO_GPU", **{**H200, **card})

    # --- Host -------------------------------------------------------------------------------------

    def timed(self, at: float, dur: float) -> dict[str, int]:
        return {"start": ns(at), "end": ns(at + dur)}

    def call(self, name: str, at: float, dur: float, *, process: int = PROCESS, **how: Any) -> int:
        """A runtime or driver call; ``how``: thread, correlation."""
        self.last += 1
        correlation = how.get("correlation", self.last)
        self.add(
            f"{ACTIVITY}RUNTIME",
            **self.timed(at, dur),
            eventClass=int(name.startswith("cu") and not name.startswith("cuda")),
            globalTid=thread_id(process, how.get("thread")),
            correlationId=correlation,
            nameId=self.string(name),
            returnValue=0,
        )
        return correlation

    def launch(self, at: float, dur: float = 5, **how: Any) -> int:
        return self.call(how.pop("name", "cudaLaunchKernel_v7000"), at, dur, **how)

    def nvtx(self, text: str, at: float, dur: float | None, **how: Any) -> None:
        """A range, open where ``dur`` is None; ``how``: thread, process, kind, inline (text)."""
        inline = how.get("inline", self.schema == 2)
        self.add(
            "NVTX_EVENTS",
            start=ns(at),
            end=None if dur is None else ns(at + dur),
            eventType=how.get("kind", PUSH_POP),
            text=text if inline else None,
            textId=None if inline else self.string(text),
            globalTid=thread_id(how.get("process", PROCESS), how.get("thread")),
            endGlobalTid=how.get("end_thread"),
            domainId=0,
        )

    def os_call(self, name: str, at: float, dur: float, thread: int | None = None) -> None:
        self.add(
            "OSRT_API",
            **self.timed(at, dur),
            globalTid=thread_id(thread=thread),
            nameId=self.string(name),
            returnValue=0,
            callchainId=0,
            eventClass=27,
        )

    def overhead(self, name: str, at: float, dur: float, **how: Any) -> None:
        """``how``: thread, kind (overheadType), table."""
        table = how.get("table", "PROFILER_OVERHEAD")
        self.add(
            table,
            **self.timed(at, dur),
            globalTid=thread_id(thread=how.get("thread")),
            nameId=self.string(name),
            overheadType=how.get("kind", 4),
        )

    # --- Device -----------------------------------------------------------------------------------

    def device_row(self, at: float, dur: float, launch: int | None, **how: Any) -> dict[str, Any]:
        return {
            **self.timed(at, dur),
            "deviceId": how.get("device", 0),
            "contextId": 1,
            "streamId": how.get("stream", STREAM),
            "correlationId": launch,
            "globalPid": process_id(how.get("process", PROCESS)),
        }

    def kernel(
        self, name: str, at: float, dur: float, *, launch: int | None = None, **how: Any
    ) -> None:
        """``how``: stream, device, process, grid, block."""
        grid, block = how.get("grid", (132, 1, 1)), how.get("block", (128, 1, 1))
        self.add(
            f"{ACTIVITY}KERNEL",
            **self.device_row(at, dur, launch, **how),
            demangledName=self.string(name),
            shortName=self.string(name),
            **dict(zip(("gridX", "gridY", "gridZ"), grid, strict=True)),
            **dict(zip(("blockX", "blockY", "blockZ"), block, strict=True)),
        )

    def graph(self, number: int, at: float, dur: float, *, launch: int) -> None:
        row = self.device_row(at, dur, launch)
        self.add(f"{ACTIVITY}GRAPH_TRACE", **row, graphId=number, graphExecId=number)

    def copy(self, at: float, dur: float, *, launch: int | None = None, **how: Any) -> None:
        """``how``: direction, source, target (as recordings spell them), size."""
        self.add(
            f"{ACTIVITY}MEMCPY",
            **self.device_row(at, dur, launch, **how),
            bytes=how.get("size", 1024),
            copyKind=COPY_KINDS[how.get("direction", "HtoD")],
            srcKind=MEMORY.get(how.get("source", "Pageable"), 7),
            dstKind=MEMORY.get(how.get("target", "Device"), 7),
        )

    def memset(self, at: float, dur: float, *, launch: int | None = None, **how: Any) -> None:
        row = self.device_row(at, dur, launch, **how)
        self.add(f"{ACTIVITY}MEMSET", **row, bytes=how.get("size", 4), value=0, memKind=2)

    def sync(self, kind: int, at: float, dur: float, *, call: int, **how: Any) -> None:
        """A recorded wait of a ``syncType``; ``how``: stream, event."""
        row = self.device_row(at, dur, call, stream=how.get("stream", UNSIGNED_NONE))
        event = how.get("event", UNSIGNED_NONE)
        self.add(f"{ACTIVITY}SYNCHRONIZATION", **row, syncType=kind, eventId=event)

    def record_event(self, event: int, *, call: int, stream: int) -> None:
        self.add(
            f"{ACTIVITY}CUDA_EVENT",
            deviceId=0,
            contextId=1,
            streamId=stream,
            correlationId=call,
            globalPid=process_id(),
            eventId=event,
        )

    def submit(self, name: str, at: float, *, start: float, dur: float, **how: Any) -> int:
        """A launch of 5 us at ``at`` and its kernel at ``start``."""
        host = {key: how[key] for key in ("thread", "process") if key in how}
        call = self.launch(at, **host)
        self.kernel(name, start, dur, launch=call, **how)
        return call

    # --- Files ------------------------------------------------------------------------------------

    def write(self, path: Path) -> Path:
        """Write the export, compressed if the name ends in ``.gz``; the path."""
        plain = path.with_suffix("") if path.suffix == ".gz" else path
        plain.unlink(missing_ok=True)
        connection = sqlite3.connect(plain)
        for table, columns in self.layout().items():
            self._write_table(connection, table, columns)
        meta = META[self.schema]
        connection.execute(f"CREATE TABLE {meta} (name TEXT, value TEXT)")
        version = self.version or {2: "2.9.1", 3: "3.24.0"}[self.schema]
        row = ("EXPORT_SCHEMA_VERSION", version)
        connection.execute(f"INSERT INTO {meta} VALUES (?, ?)", row)  # noqa: S608 - our name
        connection.commit()
        connection.close()
        if path != plain:
            path.write_bytes(gzip.compress(plain.read_bytes()))
            plain.unlink()
        return path

    def layout(self) -> dict[str, str]:
        """Tables that have rows, as exports hold no others, and their columns in this schema."""
        filled = {"StringIds", *(table for table, rows in self.rows.items() if rows)}
        if self.schema == 2:
            filled -= ONLY_SCHEMA_3
        changed = IN_SCHEMA_2 if self.schema == 2 else {}
        return {table: changed.get(table, TABLES[table]) for table in TABLES if table in filled}

    def _write_table(self, connection: sqlite3.Connection, table: str, columns: str) -> None:
        names = columns.split()
        typed = ", ".join(f"{n} {'TEXT' if n in TEXT_COLUMNS else 'INTEGER'}" for n in names)
        connection.execute(f"CREATE TABLE {table} ({typed})")
        rows = self.rows.get(table, [])
        if table == "StringIds":
            rows = [{"id": key, "value": text} for text, key in self.strings.items()]
        values = ([row.get(name) for name in names] for row in rows)
        marks = ", ".join("?" * len(names))
        sql = f"INSERT INTO {table} VALUES ({marks})"  # noqa: S608 - our names
        connection.executemany(sql, values)


def nsys_training_steps(
    steps: int = 3, launches: int = 10, *, gap: float = 20, kernel: float = 5, schema: int = 3
) -> NsysExport:
    """The loop of ``builders.training_steps`` as nsys sees it under ``emit_nvtx``."""
    export = NsysExport(schema)
    export.gpu()
    length = gap * (launches + 1)
    for number in range(steps):
        begin = number * length
        export.nvtx(f"step {number}", begin, length - 1)
        for row in range(launches):
            at = begin + gap * (row + 0.5)
            text = f"aten::mul, op_id = {number * launches + row}, sizes = [[64, 64], []]"
            export.nvtx(text, at, gap * 0.75)
            export.submit("vectorized_elementwise", at + 2, start=at + 10, dur=kernel)
    call = export.call("cudaDeviceSynchronize_v3020", steps * length, 5)
    export.sync(4, steps * length + 1, 3, call=call)
    return export


def as_nsys(recording: Recording, schema: int = 3) -> NsysExport:
    """What nsys would have recorded of the same run: all but Python frames and the step marks."""
    export = NsysExport(schema)
    card = recording.devices[0]
    export.gpu(id=0, name=card.name, totalMemory=card.memory_bytes, smCount=card.multiprocessors)
    _export_host(recording, export)
    _export_device(recording, export)
    return export


def _export_host(recording: Recording, export: NsysExport) -> None:
    host, names = recording.host, recording.names
    main = recording.main_thread
    for row in range(len(host)):
        name, thread = names[host.name[row]], int(host.thread[row])
        number = PROCESS if thread == main else PROCESS + 1 + thread
        at, dur = host.start[row] / US, host.dur[row] / US
        if host.kind[row] == HostKind.CALL:
            correlation = int(host.correlation[row])
            export.call(f"{name}_v7000", at, dur, thread=number, correlation=correlation)
        elif host.kind[row] == HostKind.OVERHEAD:
            export.overhead(name, at, dur, thread=PROCESS)
        else:
            export.nvtx(_nvtx_text(recording, row, name), at, dur, thread=number)


def _nvtx_text(recording: Recording, row: int, name: str) -> str:
    """As ``emit_nvtx(record_shapes=True)`` spells an operator."""
    host = recording.host
    if host.kind[row] != HostKind.OP:
        return name
    sequence, signature = int(host.sequence[row]), int(host.signature[row])
    text = f"{name}, seq = {sequence}" if sequence != NONE else name
    text += f", op_id = {row}"
    dims = recording.signatures[signature].dims if signature != NONE else b""
    return f"{text}, sizes = {dims.decode()}" if dims else text


def _export_device(recording: Recording, export: NsysExport) -> None:
    work, names = recording.device, recording.names
    for row in range(len(work)):
        name, at, dur = names[work.name[row]], work.start[row] / US, work.dur[row] / US
        how = {"launch": int(work.correlation[row]), "stream": int(work.stream[row])}
        if work.kind[row] == DeviceKind.KERNEL:
            grid, block = (int(work.blocks[row]), 1, 1), (int(work.threads[row]), 1, 1)
            export.kernel(name, at, dur, grid=grid, block=block, **how)
        elif work.kind[row] == DeviceKind.COPY:
            _, direction, *kinds = name.replace("(", "").replace(")", "").split()
            source, target = (kinds[0], kinds[2]) if len(kinds) == 3 else ("?", "?")
            size = int(work.size[row])
            memory = {"source": source, "target": target}
            export.copy(at, dur, direction=direction, size=size, **memory, **how)
        else:
            export.memset(at, dur, size=int(work.size[row]), **how)
