"""What a line of a journal may be: its header, or a record with every field that is read back."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from boundby.experiment.values import Decision

Record = dict[str, Any]


class _Header(msgspec.Struct, tag_field="kind", tag="header"):
    version: int


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


def is_header(line: bytes) -> bool:
    """Whether a line is the header of a journal, of any version."""
    return _decoded(line, _Header) is not None


def record_in(line: bytes) -> Record | None:
    """The record a line holds; None where it is no record, or lacks a field that is read back."""
    if _decoded(line, _Trial) is None and _decoded(line, _Baseline) is None:
        return None
    found: Record = msgspec.json.decode(line)
    return found


def _decoded(line: bytes, kind: type[msgspec.Struct]) -> msgspec.Struct | None:
    try:
        return msgspec.json.decode(line, type=kind)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
        return None
