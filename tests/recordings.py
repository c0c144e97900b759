"""Recordings as plain rows, so that two of them can be compared whatever their numbering."""

import functools
import gzip
import json
from pathlib import Path
from typing import Any

from boundby.read import read_recording
from boundby.read.recording import NONE, Recording

REAL = Path(__file__).resolve().parent / "real"


@functools.cache
def recording_of(path: Path) -> Recording:
    """A recording that no test changes: a path is read once."""
    return read_recording(path)


def load(path: Path) -> dict[str, Any]:
    """The JSON document in a gzip file."""
    return json.loads(gzip.decompress(path.read_bytes()))


def _signature(recording: Recording, number: int) -> tuple | None:
    if number == NONE:
        return None
    signature = recording.signatures[number]
    raw = (signature.dims, signature.types, signature.strides, signature.concrete)
    return tuple(json.dumps(json.loads(text)) if text else "" for text in raw)


def _thread(recording: Recording, number: int) -> tuple[str, str]:
    thread = recording.threads[number]
    return thread.pid, thread.tid


def host_rows(recording: Recording) -> list[tuple]:
    """Start, dur, name, kind, thread, correlation, external, sequence, signature."""
    host = recording.host
    columns = (host.start, host.dur, host.name, host.kind, host.thread, host.correlation)
    columns += (host.external, host.sequence, host.signature)
    return [
        (
            *(row[0], row[1], recording.names[row[2]], row[3], _thread(recording, row[4])),
            *(*row[5:8], _signature(recording, row[8])),
        )
        for row in zip(*(column.tolist() for column in columns), strict=True)
    ]


def device_rows(recording: Recording) -> list[tuple]:
    """Start, dur, name, and every other column of the device in its order."""
    device = recording.device
    columns = (device.start, device.dur, device.name, device.kind, device.device, device.stream)
    columns += (device.correlation, device.external, device.size, device.blocks, device.threads)
    return [
        (*row[:2], recording.names[row[2]], *row[3:])
        for row in zip(*(column.tolist() for column in columns), strict=True)
    ]


def python_rows(recording: Recording) -> list[tuple]:
    """Start, dur, name, thread."""
    python = recording.python
    columns = (python.start, python.dur, python.name, python.thread)
    return [
        (*row[:2], recording.names[row[2]], _thread(recording, row[3]))
        for row in zip(*(column.tolist() for column in columns), strict=True)
    ]


def all_rows(recording: Recording) -> tuple[list[tuple], list[tuple], list[tuple], list[tuple]]:
    """Host, device, Python and wait rows."""
    waits = recording.waits
    columns = (waits.start, waits.dur, waits.stream, waits.on_stream, waits.correlation)
    columns += (waits.event_correlation,)
    return (
        host_rows(recording),
        device_rows(recording),
        python_rows(recording),
        list(zip(*(column.tolist() for column in columns), strict=True)),
    )


def findings(recording: Recording) -> dict[str, str]:
    """Severity by id of what ``quality`` says."""
    return {finding.id: finding.severity for finding in recording.quality}
