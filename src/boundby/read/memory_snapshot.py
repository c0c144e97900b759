"""Reads the snapshots of the CUDA allocator (``torch.cuda.memory._dump_snapshot``) of all eras.

The pickle is opened in a child process with bounded memory and time; only typed columns come back.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from boundby.errors import UnreadableError
from boundby.read.recording import Quality, Source
from boundby.read.snapshot_load import CPU_SECONDS, DEFAULT_MAX_BYTES
from boundby.read.snapshot_types import (
    Blocks,
    Events,
    Frame,
    Marks,
    Segments,
    Settings,
    Snapshot,
)
from boundby.read.snapshot_wire import Columns, Refusal, Wire, decode
from boundby.read.stream import regular_file
from boundby.read.wording import counted

RECORD_HINT = (
    "record one: torch.cuda.memory._record_memory_history(); run a few steps; "
    "torch.cuda.memory._dump_snapshot('memory.pickle')"
)
CHILD = (
    "import sys\n"
    "path, limit, *places = sys.argv[1:]\n"
    "sys.path[:] = places\n"
    "from boundby.read.snapshot_child import main\n"
    "main(path, limit)\n"
)
WALL_SECONDS = 5 * CPU_SECONDS
TYPES: dict[type, dict[str, str]] = {
    Events: dict.fromkeys(("address", "size", "stream", "time", "free"), "<i8")
    | {"action": "i1", "stack": "<i4", "note": "<i4"},
    Segments: dict.fromkeys(("address", "size", "stream"), "<i8")
    | {"device": "<i4", "is_small": "i1", "pool": "<i4", "is_expandable": "i1"},
    Blocks: dict.fromkeys(("address", "size", "requested"), "<i8")
    | {"segment": "<i4", "state": "i1", "stack": "<i4"},
    Marks: {"name": "<i4", "is_start": "i1", "device": "<i4", "time": "<i8"},
}
FINDINGS = {
    "no-list": "{0} where a list should stand {1} left out.",
    "no-entry": "{0} of a list that {1} no entry left out.",
    "no-size": "{0} without a size in bytes {1} left out.",
    "unknown-action": "{0} of a kind that boundby does not know left out.",
}


def read_snapshot(path: Path, *, max_bytes: int = DEFAULT_MAX_BYTES) -> Snapshot:
    """The snapshot in a file: plain, gzip or zip.

    Args:
        max_bytes: Largest unpacked size that is opened.

    Raises:
        UnreadableError: The file is missing, damaged, hostile, too large or no snapshot.
    """
    regular_file(path, RECORD_HINT)
    message = _ask_child(path, max_bytes)
    if isinstance(message, Refusal):
        raise UnreadableError(f"{path} is no memory snapshot: {message.reason}", _hint(message))
    return _snapshot(path, message)


def _hint(refusal: Refusal) -> str:
    is_size = "unpacks to more than" in refusal.reason or "larger than" in refusal.reason
    return "if you trust it, raise the limit: --max-gib" if is_size else RECORD_HINT


def _ask_child(path: Path, max_bytes: int) -> Wire | Refusal:
    environment = os.environ | {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-c", CHILD, str(path), str(max_bytes), *sys.path]
    try:
        done = subprocess.run(  # noqa: S603 -- our own interpreter and code
            command, capture_output=True, check=False, timeout=WALL_SECONDS, env=environment
        )
        return decode(done.stdout) if done.returncode == 0 else _crash(done)
    except subprocess.TimeoutExpired:
        return Refusal(f"it does not open within {WALL_SECONDS} s")
    except msgspec.DecodeError:
        return Refusal("it does not survive being opened")


def _crash(done: subprocess.CompletedProcess[bytes]) -> Refusal:
    last = done.stderr.decode("utf-8", "replace").strip().splitlines()[-1:]
    if done.returncode > 0 and last and "MemoryError" not in last[0]:
        return Refusal(f"the process that opens it failed: {last[0][:200]}")
    return Refusal("it asks for more memory, time or depth than a snapshot needs")


def _snapshot(path: Path, wire: Wire) -> Snapshot:
    histories = {device: Events(**_table(Events, rows)) for device, rows in wire.histories.items()}
    events = sum(map(len, histories.values()))
    ends = np.frombuffer(wire.stack_ends, dtype="<i8").tolist()
    flat = np.frombuffer(wire.stacks, dtype="<i4").tolist()
    starts = [0, *ends][: len(ends)]
    return Snapshot(
        source=Source(str(path), "memory-snapshot", path.stat().st_size, events),
        quality=tuple(_findings(wire.counts)),
        histories=histories,
        segments=Segments(**_table(Segments, wire.segments)),
        blocks=Blocks(**_table(Blocks, wire.blocks)),
        frames=[Frame(*frame) for frame in wire.frames],
        stacks=[tuple(flat[start:end]) for start, end in zip(starts, ends, strict=True)],
        names=wire.names,
        marks=Marks(**_table(Marks, wire.marks)),
        settings=msgspec.convert(wire.settings, Settings),
        unknown=tuple(wire.unknown),
    )


def _table(kind: type, columns: Columns) -> dict[str, Any]:
    return {name: np.frombuffer(columns[name], dtype=dtype) for name, dtype in TYPES[kind].items()}


def _findings(counts: dict[str, int]) -> list[Quality]:
    left = sum(counts.values())
    if not left:
        return []
    message = f"{counted(left, 'entry')} of a form that boundby does not know left out."
    return [Quality("unreadable-entries", "warning", left, message)]
