"""The JSON document of one diagnosis, ``schema_version`` 1: keys, order and nulls as documented.

``data/schema-v1.json`` describes it. Unknown is null. Text is kept as recorded, with home folders
masked; everything outside ASCII is written as an escape, so the document is safe to show anywhere.
"""

from __future__ import annotations

from dataclasses import asdict
from importlib.metadata import PackageNotFoundError

import boundby
from boundby.diagnose import Diagnosis
from boundby.evidence.facts import Evidence, Place
from boundby.evidence.tables import OpRow, SyncRow
from boundby.prescribe.prescription import Prescription
from boundby.report.json_text import Object, encoded, text, text_or_none, texts, typed
from boundby.report.numbers import in_words
from boundby.report.roofline_document import roofline_document
from boundby.report.sanitize import well_formed
from boundby.verdict.decision import DecisionPath, Verdict

SCHEMA_VERSION = 1


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
        "next": [typed(command.command, command.question) for command in diagnosis.next],
        "evidence": [_evidence(fact) for fact in diagnosis.evidence],
    }


def encode(diagnosis: Diagnosis, *, on_one_line: bool = False) -> str:
    """The document as ASCII text that ends in a newline."""
    return encoded(document(diagnosis), on_one_line=on_one_line)


def tool_version() -> str:
    """The version of the installed package."""
    try:
        return boundby.__version__
    except PackageNotFoundError:
        return "unknown"


def _inputs(diagnosis: Diagnosis) -> Object:
    """What was read and how its times were taken."""
    return {
        "caliber": texts(asdict(diagnosis.caliber)),
        "quality": [texts(asdict(finding)) for finding in diagnosis.quality],
        "steps": texts(asdict(diagnosis.steps)),
        "calibration": texts(asdict(diagnosis.calibration)),
        "devices": [{"id": device.id, "name": text(device.name)} for device in diagnosis.devices],
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
        "ranges": [texts(asdict(row)) for row in diagnosis.ranges],
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
        "undecided_reason": text_or_none(verdict.undecided_reason),
    }


def _decision_path(path: DecisionPath | None) -> Object | None:
    if path is None:
        return None
    forks = [texts(asdict(fork)) for fork in path.forks]
    return {"forks": forks, "leaf": path.leaf, "disagreement": text_or_none(path.disagreement)}


def _prescription(change: Prescription) -> Object:
    fields = texts(asdict(change))
    return {**fields, "why": in_words(fields["why"]), "costs": texts(fields["costs"])}


def _op(row: OpRow) -> Object:
    return texts(asdict(row))


def _sync(row: SyncRow) -> Object:
    return {**asdict(row), "where": [_place(place) for place in row.where]}


def _evidence(fact: Evidence) -> Object:
    fields = texts(asdict(fact))
    places = [_place(place) for place in fact.where]
    return {**fields, "text": in_words(fields["text"]), "where": places}


def _place(place: Place) -> Object:
    return texts(asdict(place))
