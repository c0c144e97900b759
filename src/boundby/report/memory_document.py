"""The JSON document of ``boundby memory``, ``schema_version`` 1; ``data/memory-schema-v1.json``.

Unknown is null, sizes are bytes. Text is masked and escaped as in the document of ``trace``.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from importlib.metadata import PackageNotFoundError
from typing import Any

import boundby
from boundby.memory.composition import Share
from boundby.memory.diagnose import MemoryDiagnosis
from boundby.memory.facts import Fact, Place
from boundby.memory.fragmentation import Fragmentation
from boundby.memory.growth import Growth
from boundby.memory.history import Refusal
from boundby.memory.message import TextDiagnosis
from boundby.memory.pace import Pace
from boundby.memory.peak import Holder, Peak
from boundby.memory.pictures import SegmentMap, Timeline
from boundby.memory.remedies import Remedy
from boundby.memory.verdicts import Verdict
from boundby.read.recording import Quality
from boundby.report.json_text import text
from boundby.report.memory_next import next_commands, next_for_text
from boundby.report.sanitize import well_formed

SCHEMA_VERSION = 1

Object = dict[str, Any]


def encode(
    diagnosis: MemoryDiagnosis | TextDiagnosis, path: str, *, on_one_line: bool = False
) -> str:
    """The document as ASCII text that ends in a newline."""
    values = document(diagnosis, path)
    text = json.dumps(values, indent=None if on_one_line else 2, allow_nan=False)
    return text.replace("\x7f", "\\u007f") + "\n"


def document(diagnosis: MemoryDiagnosis | TextDiagnosis, path: str) -> Object:
    """The document as plain values."""
    if isinstance(diagnosis, TextDiagnosis):
        return text_document(diagnosis, path)
    return snapshot_document(diagnosis)


def snapshot_document(diagnosis: MemoryDiagnosis) -> Object:
    """The document of a snapshot."""
    case = diagnosis.case
    refusal = case.refusal
    return {
        "schema_version": SCHEMA_VERSION,
        "tool": _tool(),
        "source": {**asdict(diagnosis.source), "path": well_formed(diagnosis.source.path)},
        "quality": [_quality(finding) for finding in diagnosis.quality],
        "device": diagnosis.device,
        "devices": [asdict(each) for each in diagnosis.devices],
        "verdict": _verdict(diagnosis.verdict),
        "time": _pace(diagnosis.pace),
        "oom": None if refusal is None else _refusal(refusal),
        "refusals": [
            _refusal(each)
            | {
                "live_bytes": case.history.live_at(each.moment),
                "reserved_bytes": case.history.reserved_at(each.moment),
            }
            for each in case.history.refusals
        ],
        "steps": {"count": len(case.steps), "source": case.steps.source},
        "peak": _peak(case.peak),
        "composition": [_share(share, case.peak.reserved) for share in case.composition],
        "growth": _growth(case.growth),
        "fragmentation": _fragmentation(case.fragmentation),
        "prescriptions": [_remedy(remedy) for remedy in diagnosis.prescriptions],
        "timeline": _timeline(diagnosis.timeline),
        "segments": _segments(diagnosis.segments),
        "messages": [],
        "next": [asdict(each) for each in next_commands(diagnosis)],
        "evidence": [_fact(fact) for fact in diagnosis.evidence],
    }


def text_document(diagnosis: TextDiagnosis, path: str) -> Object:
    """The document of an out-of-memory text."""
    message = diagnosis.message
    return {
        "schema_version": SCHEMA_VERSION,
        "tool": _tool(),
        "source": {
            "path": well_formed(path),
            "format": "oom-text",
            "bytes": None,
            "events": sum(each.count for each in diagnosis.messages),
        },
        "quality": [],
        "device": message.gpu,
        "devices": [],
        "verdict": _verdict(diagnosis.verdict),
        "time": _pace(diagnosis.pace),
        "oom": {"event": None, "bytes": message.requested, "device_free_bytes": message.free},
        "refusals": [],
        "steps": None,
        "peak": None,
        "composition": [],
        "growth": [],
        "fragmentation": None,
        "prescriptions": [_remedy(remedy) for remedy in diagnosis.prescriptions],
        "timeline": None,
        "segments": None,
        "messages": [_message(each) for each in diagnosis.messages],
        "next": [asdict(each) for each in next_for_text(diagnosis)],
        "evidence": [_fact(fact) for fact in diagnosis.evidence],
    }


def _tool() -> Object:
    try:
        version = boundby.__version__
    except PackageNotFoundError:
        version = "unknown"
    return {"name": "boundby", "version": version}


def _quality(finding: Quality) -> Object:
    return {**asdict(finding), "message": text(finding.message)}


def _verdict(verdict: Verdict) -> Object:
    return {
        "class": verdict.name,
        "cause": verdict.cause,
        "strength": verdict.strength,
        "because": list(verdict.because),
        "undecided_reason": verdict.undecided_reason,
    }


def _refusal(refusal: Refusal) -> Object:
    return {
        "event": refusal.moment,
        "bytes": refusal.size,
        "device_free_bytes": refusal.device_free,
    }


def _pace(pace: Pace | None) -> Object | None:
    return None if pace is None else {"class": pace.name, "device_busy": pace.busy}


def _place(place: Place) -> Object:
    return {**asdict(place), "file": text(place.file), "function": text(place.function)}


def _peak(peak: Peak) -> Object:
    return {
        "event": peak.moment,
        "live_bytes": peak.live,
        "reserved_bytes": peak.reserved,
        "transient_bytes": peak.transient,
        "phase": peak.phase.name.lower(),
        "cause": peak.cause,
        "cause_bytes": peak.cause_bytes,
        "holders": [_holder(holder) for holder in peak.holders],
    }


def _holder(holder: Holder) -> Object:
    origin = holder.origin
    return {
        "part": holder.part,
        "bytes": holder.bytes,
        "blocks": holder.blocks,
        "largest_bytes": holder.largest,
        "op": text(origin.op) or None,
        "phase": origin.phase.name.lower(),
        "shape": holder.shape or None,
        "where": [_place(place) for place in (origin.place, *origin.callers) if place],
    }


def _share(share: Share, whole: int) -> Object:
    part = (
        None if share.bytes is None or not whole or share.part == "context" else share.bytes / whole
    )
    return {**asdict(share), "share": part}


def _growth(growth: Growth) -> list[Object]:
    return [
        {
            "bytes_per_step": row.bytes_per_step,
            "blocks_per_step": row.blocks_per_step,
            "total_bytes": row.total,
            "kept_bytes": row.kept,
            "steps": growth.steps,
            "chance": row.chance,
            "is_sawtooth": row.is_sawtooth,
            "cause": growth.cause,
            "op": text(row.origin.op) or None,
            "where": [_place(place) for place in (row.origin.place, *row.origin.callers) if place],
        }
        for row in growth.rows
    ]


def _fragmentation(found: Fragmentation) -> Object:
    return {
        "at": found.at,
        "index": found.state.index,
        "request_bytes": found.request,
        "free_bytes": found.state.free,
        "largest_free_bytes": found.state.largest,
        "pinned_bytes": found.state.pinned,
        "fits_in_total": found.fits_in_total,
        "fits_in_largest": found.fits_in_largest,
        "segment_requests": found.segment_requests,
        "segment_bytes": found.segment_bytes,
        "avoidable_requests": found.avoidable_requests,
        "avoidable_bytes": found.avoidable_bytes,
        "reserved_peak_bytes": found.reserved_peak,
        "live_peak_bytes": found.live_peak,
    }


def _remedy(remedy: Remedy) -> Object:
    return {
        "id": remedy.id,
        "title": remedy.title,
        "why": text(remedy.why),
        "how": remedy.how,
        "saves_bytes": remedy.saves,
        "stop_when": remedy.stop_when,
        "costs": asdict(remedy.costs),
        "trade": {"pays": remedy.pays, "why": remedy.trade},
        "where": [_place(place) for place in remedy.where],
    }


def _timeline(timeline: Timeline) -> Object:
    return {
        "event": timeline.start.tolist(),
        "time_ns": [time if time >= 0 else None for time in timeline.time.tolist()],
        "live_bytes": timeline.live.tolist(),
        "reserved_bytes": timeline.reserved.tolist(),
        "peak": timeline.peak,
        "refusals": list(timeline.refusals),
    }


def _segments(segments: SegmentMap) -> Object:
    return {
        "event": segments.moment,
        "left_out": segments.left_out,
        "rows": [
            {**asdict(row), "blocks": [list(block) for block in row.blocks]}
            for row in segments.rows
        ],
    }


def _message(message: Any) -> Object:  # noqa: ANN401 -- an OomMessage, field by field
    fields = asdict(message)
    fields["others"] = [{"process": pid, "bytes": size} for pid, size in message.others.items()]
    return fields


def _fact(fact: Fact) -> Object:
    return {
        **asdict(fact),
        "text": text(fact.text),
        "where": [_place(place) for place in fact.where],
    }
