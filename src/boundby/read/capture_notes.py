"""What a live run wrote as JSON, checked: a damaged note is left out, as a torn last line is.

The observed process writes these files and needs none of this.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, TypeAlias

import msgspec
from msgspec import Meta, Struct

Note: TypeAlias = Mapping[str, Any]
Count: TypeAlias = Annotated[int, Meta(ge=0, le=1 << 60)]
Positive: TypeAlias = Annotated[int, Meta(ge=1, le=1 << 60)]
Frames: TypeAlias = list[tuple[str, int, str, int]]


class _Header(Struct):
    script: str = ""
    directory: str = ""
    libraries: list[str] = []
    pid: int | None = None
    began: int | None = None
    began_s: float | None = None
    torch: str | None = None
    rank: int | None = None
    device: str | None = None


class _Stack(Struct):
    id: int
    frames: Frames


class _Pass(Struct):
    id: int
    name: str


class _Source(Struct):
    source: str


class _Problem(Struct):
    text: str


class _WarmUp(Struct):
    settled: bool


class _Sampler(Struct):
    bias: str


class _Loop(Struct):
    frame: tuple[str, int, str, int]


class _Loader(Struct):
    num_workers: Count | None = None
    prefetch_factor: Count | None = None
    pin_memory: bool | None = None
    samples: Count | None = None


class _Batch(Struct):
    bytes: Count | None
    samples: Count | None


class _History(Struct):
    kept: bool | None = None
    ratio: float | None = None


class _Memory(Struct):
    step: int
    allocated_bytes_current: Count
    allocated_bytes_peak: Count
    reserved_bytes_current: Count
    reserved_bytes_peak: Count
    capacity: Positive
    retries: Count


class _MemorySign(Struct):
    sign: str


class _MixedPrecision(Struct):
    unscaled: bool | None = None


class _OutOfMemory(Struct):
    asked: Count
    free: Count
    capacity: Positive | None = None


class _End(Struct):
    exception: str
    message: str = ""


class _Surroundings(Struct):
    cores: Positive | None = None
    quota: Annotated[float, Meta(gt=0)] | None = None
    threads: Count | None = None
    workers: Count | None = None
    worker_threads: Count | None = None
    switches: list[str] = []
    anomaly: bool | None = None
    cudnn_benchmark: bool | None = None
    debugger: str | None = None
    traced: bool | None = None
    clock_mhz: Count | None = None
    most_mhz: Count | None = None
    reasons: list[str] = []
    others: Count | None = None


KINDS: dict[str, type[Struct]] = {
    "stack": _Stack,
    "pass": _Pass,
    "source": _Source,
    "problem": _Problem,
    "warm-up": _WarmUp,
    "sampler": _Sampler,
    "loop": _Loop,
    "loader": _Loader,
    "batch": _Batch,
    "history": _History,
    "memory": _Memory,
    "memory-sign": _MemorySign,
    "mixed-precision": _MixedPrecision,
    "oom": _OutOfMemory,
    "end": _End,
    "surroundings": _Surroundings,
}
"""What is read of each kind; a note may hold more, and other kinds hold what they like."""


class _Readings(Struct):
    total: Positive | None = None
    available_least: Count | None = None
    parents: dict[int, int] = {}
    samples: list[tuple[float, int, Count, Count | None]] = []


def header_in(raw: bytes) -> dict[str, Any]:
    """The header of a run.

    Raises:
        ValueError: It is none.
    """
    found = _object(raw)
    if found is None or not _fits(found, _Header):
        raise ValueError("no header of a run")
    return found


def notes_in(raw: bytes) -> Iterator[Note]:
    """The notes that are whole and hold what is read of their kind."""
    for line in raw.splitlines():
        note = _object(line)
        if note is None:
            continue
        kind = note.get("note")
        wanted = KINDS.get(kind) if isinstance(kind, str) else None
        if wanted is None or _fits(note, wanted):
            yield note


def readings_in(raw: bytes) -> dict[str, Any]:
    """Readings of the host's memory, with numbers as keys; empty where they are damaged."""
    try:
        return msgspec.structs.asdict(msgspec.json.decode(raw, type=_Readings))
    except (ValueError, RecursionError):
        return {}


def _object(raw: bytes) -> dict[str, Any] | None:
    """By ``json``, since names of files may hold bytes that are no text: lone surrogates here."""
    try:
        found = json.loads(raw)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _fits(found: dict[str, Any], wanted: type[Struct]) -> bool:
    try:
        msgspec.convert(found, wanted)
    except msgspec.ValidationError:
        return False
    return True
