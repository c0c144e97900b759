"""A tuning run as JSON: ``data/tune-schema-v1.json`` describes it. Unknown is null."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

from boundby.experiment.outcome import Outcome, path_points
from boundby.experiment.questions import questions
from boundby.report.bench import as_json
from boundby.report.document import tool_version
from boundby.report.json_text import Object, all_texts
from boundby.report.tune import notes, verify

SCHEMA_VERSION = 1
SCHEMA_FILE = Path(__file__).parent.parent / "data" / "tune-schema-v1.json"


def encode(outcome: Outcome) -> str:
    """The document as ASCII text that ends in a newline."""
    return as_json(all_texts(document(outcome)))


def document(outcome: Outcome) -> Object:
    """The document as plain values."""
    return {
        "schema_version": SCHEMA_VERSION,
        "kind": "boundby-tune",
        "tool": {"name": "boundby", "version": tool_version()},
        "target": outcome.target,
        "arguments": list(outcome.arguments),
        "device": outcome.facts.device_name,
        "caliber": outcome.facts.caliber or None,
        "memory_cap_bytes": outcome.memory_cap,
        "ended": outcome.ended,
        "seconds": outcome.seconds,
        "gain": outcome.gain,
        "gain_range": list(outcome.gain_range) if outcome.gain_range else None,
        "mfu": outcome.mfu,
        "baseline": outcome.baseline,
        "best": outcome.best,
        "configuration": [list(pair) for pair in outcome.configuration],
        "path": path_points(outcome.story),
        "trials": list(outcome.records),
        "questions": [asdict(each) for each in questions(outcome.records)],
        "patch": [{"change": change, "code": code} for change, code in outcome.patch],
        "verify": verify(outcome),
        "notes": notes(outcome),
    }


def schema() -> Object:
    """JSON Schema (draft 2020-12) of the document."""
    loaded: Object = json.loads(SCHEMA_FILE.read_text("utf-8"))
    return loaded
