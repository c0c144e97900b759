"""The comparison of two snapshots as text, JSON or Markdown."""

from __future__ import annotations

import json
from dataclasses import asdict

from boundby.memory.compare import Change, Comparison
from boundby.memory.diagnose import MemoryDiagnosis
from boundby.memory.facts import size_text
from boundby.report.layout import BLANK, Line, Span, line
from boundby.report.sanitize import fit, private, shown, well_formed
from boundby.report.terminal import Look, draw

LINES_SHOWN = 15
SCHEMA_VERSION = 1


def render(comparison: Comparison, form: str, look: Look) -> str:
    """The comparison in the form that was asked for."""
    if form == "json":
        return json.dumps(_document(comparison), indent=2) + "\n"
    lines = list(_rows(comparison, look.width))
    if form == "markdown":
        return "```\n" + draw(lines, Look(width=look.width)) + "```\n"
    return draw(lines, look)


def _document(comparison: Comparison) -> dict[str, object]:
    return {
        "schema_version": SCHEMA_VERSION,
        "before": _side(comparison.before),
        "after": _side(comparison.after),
        "parts": [
            {"part": part, "before_bytes": old, "after_bytes": new}
            for part, (old, new) in comparison.parts.items()
        ],
        "lines": [_line(change) for change in comparison.lines],
    }


def _side(found: MemoryDiagnosis) -> dict[str, object]:
    return {
        "class": found.verdict.name,
        "device": found.device,
        "peak_bytes": found.case.peak.live,
    }


def _line(change: Change) -> dict[str, object]:
    where = None
    if change.place:
        where = {**asdict(change.place), "file": private(well_formed(change.place.file))}
    return {
        "label": private(well_formed(change.label)),
        "where": where,
        "before_bytes": change.before,
        "after_bytes": change.after,
        "difference_bytes": change.difference,
    }


def _rows(comparison: Comparison, width: int) -> list[Line]:
    first, second = comparison.before, comparison.after
    old, new = first.case.peak.live, second.case.peak.live
    lines: list[Line] = [
        (
            Span("peak       "),
            Span(f"{size_text(old)} -> {size_text(new)}", "strong"),
            Span(f"  ({size_text(new - old)})"),
        ),
        line(f"verdict    {first.verdict.name} -> {second.verdict.name}"),
    ]
    if first.device != second.device or len(first.devices) > 1 or len(second.devices) > 1:
        lines.append(line(f"device     {first.device} -> {second.device}"))
    lines.append(BLANK)
    room = max(width - 36, 20)
    lines.append(line(fit("part", room) + f"{'before':>11}{'after':>11}{'more':>12}", "heading"))
    for part, (before, after) in comparison.parts.items():
        if before or after:
            lines.append(line(fit(part, room) + _figures(before, after)))
    lines += [
        BLANK,
        line(fit("line", room) + f"{'before':>11}{'after':>11}{'more':>12}", "heading"),
    ]
    for change in comparison.lines[:LINES_SHOWN]:
        lines.append(line(fit(shown(change.label), room) + _figures(change.before, change.after)))
    return lines


def _figures(before: int, after: int) -> str:
    return f"{size_text(before):>11}{size_text(after):>11}{size_text(after - before):>12}"
