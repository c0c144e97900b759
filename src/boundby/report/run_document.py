"""The JSON document of a live run: that of a diagnosis, with ``live`` beside it."""

from __future__ import annotations

from dataclasses import asdict

from boundby.capture.device_memory import DeviceMemory
from boundby.capture.findings import LiveRun
from boundby.diagnose import Diagnosis
from boundby.report.document import SCHEMA_VERSION, document, tool_version
from boundby.report.json_text import Object, all_texts, encoded
from boundby.report.memory_document import document as memory_document
from boundby.report.run_text import why_no_trace

LEFT_OUT = frozenset({"facts", "live"})
"""Members of a run that stand elsewhere: facts among the evidence."""


def encode(run: LiveRun, diagnosis: Diagnosis | None, memory: DeviceMemory | None = None) -> str:
    """The document as ASCII text that ends in a newline."""
    return encoded(run_document(run, diagnosis, memory))


def run_document(run: LiveRun, diagnosis: Diagnosis | None, memory: DeviceMemory | None) -> Object:
    """The document as plain values."""
    whole = document(diagnosis) if diagnosis else _without_trace(why_no_trace(run))
    whole["memory"] = memory_document(memory, run.folder) if memory else None
    return {**whole, "live": live(run)}


def live(run: LiveRun) -> Object:
    """What only a live run knows; unknown is null."""
    fields: Object = all_texts({k: v for k, v in asdict(run).items() if k not in LEFT_OUT})
    fields["surroundings"] = all_texts(asdict(run.live))
    return fields


NO_VERDICT: Object = {
    "class": "undecided",
    "cause": None,
    "strength": None,
    "because": [],
    "runner_up": None,
}
UNKNOWN = (
    "source",
    "caliber",
    "steps",
    "calibration",
    "device",
    "decision_path",
    "host",
    "roofline",
)
NOTHING = (
    "quality",
    "devices",
    "waterfall",
    "what_if",
    "ladder",
    "prescriptions",
    "ranges",
    "ops",
    "syncs",
    "next",
    "evidence",
)
"""Members of a diagnosis that are null, and that are empty, without a trace."""


def _without_trace(why: str) -> Object:
    """The document of a run that ended before its trace: every key, nothing known."""
    tool = {"name": "boundby", "version": tool_version()}
    empty: Object = {key: [] for key in NOTHING}
    unknown: Object = dict.fromkeys(UNKNOWN)
    return {
        "schema_version": SCHEMA_VERSION,
        "tool": tool,
        **unknown,
        **empty,
        "verdict": {**NO_VERDICT, "undecided_reason": why},
    }
