"""The JSON document of one diagnosis, ``schema_version`` 1: keys, order and nulls as documented.

``data/schema-v1.json`` describes it. Unknown is null. Text is kept as recorded, with home folders
masked; everything outside ASCII is written as an escape, so the document is safe to show anywhere.
"""

from __future__ import annotations

import re
from dataclasses import asdict
from importlib.metadata import PackageNotFoundError
from typing import Any

import msgspec

import boundby
from boundby.diagnose import Diagnosis
from boundby.evidence.facts import Evidence, Place
from boundby.evidence.tables import OpRow, SyncRow
from boundby.prescribe.prescription import Prescription
from boundby.report.numbers import in_words
from boundby.report.roofline_document import roofline_document
from boundby.report.sanitize import command as typed_command
from boundby.report.sanitize import private, well_formed
from boundby.verdict.decision import DecisionPath, Verdict

SCHEMA_VERSION = 1

OUTSIDE_ASCII = re.compile(r"[^\x00-\x7e]")
HIGHEST_SINGLE_UNIT = 0xFFFF

Object = dict[str, Any]


def document(diagnosis: Diagnosis) -> Object:
    """The document as plain values, in the documented order."""
    return {
        "schema_version": SCHEMA_VERSION,
        "tool": {"name": "boundby", "version": tool_version()},
        "source": _source(diagnosis),
        **_inputs(diagnosis),
        **_findings(diagnosis),
        "roofline": roofline_document(diagnosis.roofline),
        "memory": None,
        "next": [_typed(command.command, command.question) for command in diagnosis.next],
        "evidence": [_evidence(fact) for fact in diagnosis.evidence],
    }


def encode(diagnosis: Diagnosis, *, on_one_line: bool = False) -> str:
    """The document as ASCII text that ends in a newline."""
    raw = msgspec.json.encode(document(diagnosis), enc_hook=_plain_number)
    raw = raw if on_one_line else msgspec.json.format(raw, indent=2)
    return OUTSIDE_ASCII.sub(_escape, raw.decode("utf-8")) + "\n"


def tool_version() -> str:
    """The version of the installed package."""
    try:
        return boundby.__version__
    except PackageNotFoundError:
        return "unknown"


def _inputs(diagnosis: Diagnosis) -> Object:
    """What was read and how its times were taken."""
    return {
        "caliber": _texts(asdict(diagnosis.caliber)),
        "quality": [_texts(asdict(finding)) for finding in diagnosis.quality],
        "steps": _texts(asdict(diagnosis.steps)),
        "calibration": _texts(asdict(diagnosis.calibration)),
        "devices": [{"id": device.id, "name": _text(device.name)} for device in diagnosis.devices],
        "device": asdict(diagnosis.device),
    }


def _findings(diagnosis: Diagnosis) -> Object:
    """What follows from it."""
    return {
        "waterfall": [asdict(part) for part in diagnosis.waterfall],
        "verdict": _verdict(diagnosis.verdict),
        "decision_path": _decision_path(diagnosis.path),
        "host": asdict(diagnosis.host),
        "what_if": [asdict(edit) for edit in diagnosis.what_if],
        "ladder": [
            {"class": rung.name, "fix": rung.fix, "step_ms": rung.step_ms, "pays": rung.pays}
            for rung in diagnosis.ladder
        ],
        "prescriptions": [_prescription(change) for change in diagnosis.prescriptions],
        "ranges": [_texts(asdict(row)) for row in diagnosis.ranges],
        "ops": [_op(row) for row in diagnosis.ops],
        "syncs": [_sync(row) for row in diagnosis.syncs],
    }


def _source(diagnosis: Diagnosis) -> Object:
    """The path stays as the user typed it; home folders are masked everywhere else."""
    return {**asdict(diagnosis.source), "path": well_formed(diagnosis.source.path)}


def _verdict(verdict: Verdict) -> Object:
    second = verdict.runner_up
    return {
        "class": verdict.name,
        "cause": verdict.cause,
        "strength": verdict.strength,
        "because": list(verdict.because),
        "runner_up": {"class": second.name, "share": second.share} if second else None,
        "undecided_reason": _text_or_none(verdict.undecided_reason),
    }


def _decision_path(path: DecisionPath | None) -> Object | None:
    if path is None:
        return None
    forks = [_texts(asdict(fork)) for fork in path.forks]
    return {"forks": forks, "leaf": path.leaf, "disagreement": _text_or_none(path.disagreement)}


def _prescription(change: Prescription) -> Object:
    fields = _texts(asdict(change))
    return {**fields, "why": in_words(fields["why"]), "costs": _texts(fields["costs"])}


def _op(row: OpRow) -> Object:
    return _texts(asdict(row))


def _sync(row: SyncRow) -> Object:
    return {**asdict(row), "where": [_place(place) for place in row.where]}


def _evidence(fact: Evidence) -> Object:
    fields = _texts(asdict(fact))
    places = [_place(place) for place in fact.where]
    return {**fields, "text": in_words(fields["text"]), "where": places}


def _place(place: Place) -> Object:
    return _texts(asdict(place))


def _texts(fields: Object) -> Object:
    """The same fields with every text fit for a report."""
    return {key: _text(value) if isinstance(value, str) else value for key, value in fields.items()}


def _typed(command: str, question: str) -> Object:
    """A next command as it can be typed: its path is not shortened."""
    return {"command": typed_command(well_formed(command)), "question": _text(question)}


def _text(text: str) -> str:
    return private(well_formed(text))


def _text_or_none(text: str | None) -> str | None:
    return None if text is None else _text(text)


def _plain_number(value: object) -> object:
    """A numpy scalar as the Python number it holds."""
    item = getattr(value, "item", None)
    if item is None:
        raise NotImplementedError(f"no JSON for {type(value).__name__}")
    return item()


def _escape(match: re.Match[str]) -> str:
    """A character as JSON escapes; outside the first plane as a surrogate pair."""
    code = ord(match[0])
    if code <= HIGHEST_SINGLE_UNIT:
        return f"\\u{code:04x}"
    high, low = divmod(code - 0x10000, 0x400)
    return f"\\u{0xD800 + high:04x}\\u{0xDC00 + low:04x}"
