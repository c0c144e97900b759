"""What a line of a journal may be: its header, or a record with every field that is read back."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from boundby.experiment.values import Decision

Record = dict[str, Any]
PROGRAM, END = "program", "end"
"""Records of a run beside those of its trials: what it is of, and why it came to its end."""
BASELINE = "baseline"
"""The first record of the trials of a run."""


class _Header(msgspec.Struct, tag_field="kind", tag="header"):
    version: int
    target: str
    arguments: list[str]


class _Ratio(msgspec.Struct):
    estimate: float


class _Diagnosis(msgspec.Struct):
    verdict: str


class _Trial(msgspec.Struct):
    """The fields of ``outcome.record_of`` that runs and reports read; others are free."""

    kind: Literal["again", "trial", "probe"]
    change: str
    value: str | None
    configuration: list[tuple[str, str]]
    predicted_ms: float | None
    step_ms: float | None
    samples: int | None
    samples_per_s: float | None
    peak_bytes: int | None
    correct: bool | None
    decision: Decision
    failure: str | None
    why: str
    ratio: _Ratio | None
    diagnosis: _Diagnosis | None


class _Baseline(_Trial):
    kind: Literal["baseline"]  # type: ignore[assignment]
    step_ms: float


class _Program(msgspec.Struct, tag_field="kind", tag=PROGRAM):
    program: Literal["workload", "script"]
    batch: int | None
    flops: float | None
    memory_bytes: int | None


class _End(msgspec.Struct, tag_field="kind", tag=END):
    why: str
    seconds: float


KINDS = (_Trial, _Baseline, _Program, _End)


def is_header(line: bytes) -> bool:
    """Whether a line is the header of a journal."""
    return _decoded(line, _Header) is not None


def record_in(line: bytes) -> Record | None:
    """The record a line holds; None where it is no record, or lacks a field that is read back."""
    if all(_decoded(line, kind) is None for kind in KINDS):
        return None
    found: Record = msgspec.json.decode(line)
    return found


def _decoded(line: bytes, kind: type[msgspec.Struct]) -> msgspec.Struct | None:
    try:
        return msgspec.json.decode(line, type=kind)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
        return None
