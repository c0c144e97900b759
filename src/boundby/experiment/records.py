"""What a line of a journal may be: its header, or a record with every field that is read back."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeVar

import msgspec
from msgspec import Meta

from boundby.experiment.values import BATCH

Record = dict[str, Any]
PROGRAM, END = "program", "end"
"""Records of a run beside those of its trials: what it is of, and why it came to its end."""
BASELINE = "baseline"
"""The first record of the trials of a run."""

MOST = 1 << 60
"""Samples or bytes: more than any machine holds."""
MOST_TIME, LEAST_MS = 1e12, 1e-12
"""Seconds or milliseconds, beyond what any clock measures; times of steps are divided by."""
MOST_SIZE = 1e36
"""Of what has no unit in common: operations, errors, samples a second."""
MOST_FACTOR = 1e6
"""No change makes a step a million times as fast; the gain is a product of such factors."""
LONGEST = 20
"""Digits of a batch size that are looked at: more are too many."""


Count = Annotated[int, Meta(ge=1, le=MOST)]
Bytes = Annotated[int, Meta(ge=0, le=MOST)]
Step = Annotated[float, Meta(ge=LEAST_MS, le=MOST_TIME)]
Time = Annotated[float, Meta(ge=0.0, le=MOST_TIME)]
Size = Annotated[float, Meta(ge=0.0, le=MOST_SIZE)]
Rate = Annotated[float, Meta(gt=0.0, le=MOST_SIZE)]
Factor = Annotated[float, Meta(ge=1 / MOST_FACTOR, le=MOST_FACTOR)]


class _Header(msgspec.Struct):
    kind: Literal["header"]
    version: int
    target: str
    arguments: list[str]


class _WholeHeader(_Header):
    memory_cap: Count | None = None


class _Ratio(msgspec.Struct):
    estimate: Factor


class _Diagnosis(msgspec.Struct):
    verdict: str


class _Gate(msgspec.Struct):
    error: Size | None
    limit: Size | None = None
    precision: str | None = None
    tensors: Bytes | None = None
    wide: Bytes | None = None

    def __post_init__(self) -> None:
        if self.error is not None and None in (self.limit, self.precision, self.tensors):
            raise ValueError("an error without what it was held to")


class _Caliber(msgspec.Struct):
    torch: str | None = None
    cuda: str | None = None
    device: str | None = None
    flags: dict[str, Any] | None = None


class _Trial(msgspec.Struct):
    """The fields of ``outcome.record_of`` that runs and reports read; others are free."""

    kind: Literal["again", "trial", "probe"]
    change: str
    value: str | None
    configuration: list[tuple[str, str]]
    predicted_ms: Time | None
    predicted_by: Literal["replay", "guess"] | None
    step_ms: Step | None
    samples: Count | None
    samples_per_s: Rate | None
    peak_bytes: Bytes | None
    correct: bool | None
    gate: _Gate | None
    decision: Literal["kept", "reverted", "rejected", "failed", "probed"]
    failure: str | None
    why: str
    ratio: _Ratio | None
    first_s: Time | None
    seconds: Time
    diagnosis: _Diagnosis | None
    predicted_range_ms: tuple[Time, Time] | None = None
    against_ms: Step | None = None
    caliber: _Caliber | None = None

    def __post_init__(self) -> None:
        sizes = [value for name, value in self.configuration if name == BATCH]
        if not all(is_size(each) for each in sizes):
            raise ValueError("a batch size that is no number of samples")
        if self.predicted_ms is not None and self.predicted_by is None:
            raise ValueError("a prediction by nobody")


def is_size(text: str) -> bool:
    """Whether a batch size is one."""
    return text.isascii() and text.isdecimal() and 1 <= int(text[:LONGEST]) <= MOST


class _Baseline(_Trial):
    kind: Literal["baseline"]  # type: ignore[assignment]
    decision: Literal["baseline"]  # type: ignore[assignment]
    step_ms: Step


class _Program(msgspec.Struct):
    kind: Literal["program"]
    program: Literal["workload", "script"]
    batch: Count | None
    flops: Size | None
    memory_bytes: Bytes | None
    computes: str = ""


class _End(msgspec.Struct):
    kind: Literal["end"]
    why: str
    seconds: Time


Known = TypeVar("Known", msgspec.Struct, Record)
KINDS = (_Trial, _Baseline, _Program, _End)


def is_header(line: bytes) -> bool:
    """Whether a line is the header of a journal."""
    return _decoded(line, _Header) is not None


def is_whole_header(line: bytes) -> bool:
    """Whether a header holds what is read back."""
    return _decoded(line, _WholeHeader) is not None


def record_in(line: bytes) -> Record | None:
    """The record a line holds; None where it is no record, or lacks a field that is read back."""
    if all(_decoded(line, kind) is None for kind in KINDS):
        return None
    return _decoded(line, Record)


def _decoded(line: bytes, kind: type[Known]) -> Known | None:
    try:
        return msgspec.json.decode(line, type=kind)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
        return None
