"""The step on the page: where it goes, its ladder, and what each edit would buy."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from boundby.diagnose import Diagnosis
from boundby.evidence.words import unit_for
from boundby.prescribe.prescription import Prescription
from boundby.replay.values import WhatIf
from boundby.report import numbers, sanitize, sentences
from boundby.report.page.parts import (
    Block,
    Cell,
    Head,
    bars_height,
    chart,
    figure,
    missing,
    prose,
    table,
)
from boundby.verdict.decision import Rung

Charts = dict[str, Any]

NO_STEP = "No waterfall: the recording carries no estimate of the step without the profiler."
NO_WHAT_IF = "No predictions: they need a verdict, and this recording carries none."
GROUPS = {
    "data": "data",
    "sync": "sync",
    "python": "python",
    "submission": "submission",
    "device-compute": "compute",
    "device-memory": "memory",
    "device-other": "other",
    "device-copy": "copy",
    "device-communication": "communication",
}
CLASS_GROUPS = {
    "launch-bound": "submission",
    "python-bound": "python",
    "sync-bound": "sync",
    "memory-bound": "memory",
    "compute-bound": "compute",
    "communication-bound": "communication",
}
"""Keys of the palette in ``data/page/common.js``."""
MEANINGS = {
    "data": "the host waits for the next batch",
    "sync": "the host waits for the device and fills the queue again",
    "python": "the interpreter, between operators",
    "submission": "operators and launch calls on the host",
    "device-compute": "kernels under the compute roof",
    "device-memory": "kernels under the memory roof",
    "device-other": "unknown kernels, and gaps that no host causes",
    "device-copy": "copies between host and device",
    "device-communication": "collectives that nothing hides",
}


def waterfall(diagnosis: Diagnosis, charts: Charts) -> list[Block]:
    """The parts of the step, each where the one before it ends."""
    parts = [part for part in diagnosis.waterfall if part.ms > 0]
    if not parts:
        return [missing(NO_STEP)]
    whole = sum(part.ms for part in parts)
    unit, size = unit_for(whole)
    rows, before = [], 0.0
    for part in parts:
        rows.append(
            {
                "name": part.part,
                "from": before / size,
                "size": part.ms / size,
                "group": GROUPS[part.part],
                "text": f"{numbers.ms(part.ms, whole)}  {numbers.share(part.share)}",
                "hint": MEANINGS[part.part],
            }
        )
        before += part.ms
    charts["waterfall"] = {"kind": "bars", "axis": f"{unit} of the step", "rows": rows}
    told = ", ".join(f"{row['name']} {row['text']}" for row in rows)
    caption = "The parts sum to the step without the profiler; the host's come first."
    return [chart("waterfall", f"Waterfall of the step: {told}", bars_height(rows), caption)]


def ladder(diagnosis: Diagnosis, charts: Charts) -> list[Block]:
    """What binds now, what after the first fix, and so on down to the floor."""
    free = diagnosis.steps.unprofiled_ms
    if not diagnosis.ladder or free is None:
        return [missing("No ladder: there is no estimate of the step to climb down from.")]
    unit, size = unit_for(free.estimate)
    steps = [free.estimate, *(rung.step_ms for rung in diagnosis.ladder if rung.fix)]
    done = ["now", *(_after(rung) for rung in diagnosis.ladder if rung.fix)]
    bound = [rung.name for rung in diagnosis.ladder]
    bound += ["the floor"] * (len(steps) - len(bound))
    rows = [
        {
            "name": name,
            "size": step / size,
            "group": CLASS_GROUPS.get(class_, "other"),
            "text": f"{numbers.ms(step, free.estimate)}  {class_}",
        }
        for name, step, class_ in zip(done, steps, bound, strict=False)
    ]
    charts["ladder"] = {"kind": "bars", "axis": f"{unit} a step", "rows": rows}
    told = ", ".join(f"{row['name']} {row['text']}" for row in rows)
    caption = "Fixes in the order that pays, each on top of those above it."
    return [chart("ladder", f"Ladder: {told}", bars_height(rows), caption)]


def _after(rung: Rung) -> str:
    return f"{sanitize.shown(rung.fix)}{'' if rung.pays else ' (no gain yet)'}"


def what_if(diagnosis: Diagnosis, charts: Charts) -> list[Block]:
    """Predicted steps with one cost removed, with their ranges, beside the step of today."""
    edits = sorted(diagnosis.what_if, key=lambda edit: edit.step_ms)
    free = diagnosis.steps.unprofiled_ms
    if not edits or free is None:
        return [missing(NO_WHAT_IF)]
    larger = [edit for edit in edits if sentences.is_larger_batch(edit.id)]
    same = [edit for edit in edits if edit not in larger]
    blocks = []
    if same:
        caption = "Each is replayed alone: the diamond is the estimate, the bar its range."
        blocks.append(_ranges("what-if", "What-if", same, free.estimate, caption, charts))
    if larger:
        caption = "Steps of a larger batch: each works on so many times the samples of today."
        label = "What-if, larger batches"
        blocks.append(_ranges("batches", label, larger, free.estimate, caption, charts))
    return blocks


def _ranges(
    identity: str, label: str, edits: Sequence[WhatIf], now: float, caption: str, charts: Charts
) -> Block:
    unit, size = unit_for(now)
    more = " samples/s" if identity == "batches" else ""
    rows = [
        {
            "name": sanitize.shown(edit.id),
            "value": edit.step_ms / size,
            "low": edit.low / size,
            "high": edit.high / size,
            "text": f"{numbers.ms(edit.step_ms, now)}  {numbers.times(edit.speedup)}{more}",
            "hint": numbers.between(edit.low, edit.high),
        }
        for edit in edits
    ]
    charts[identity] = {
        "kind": "ranges",
        "axis": f"{unit} a step",
        "now": now / size,
        "now_text": numbers.ms(now),
        "rows": rows,
    }
    told = ", ".join(f"{row['name']} {row['text']} ({row['hint']})" for row in rows)
    return chart(identity, f"{label}: {told}", bars_height(rows) + 20, caption)


def what_if_table(diagnosis: Diagnosis) -> list[Block]:
    """The same as figures."""
    rows = [
        (
            Cell(sanitize.shown(edit.id)),
            figure(edit.step_ms, numbers.ms(edit.step_ms)),
            figure(edit.low, numbers.ms(edit.low)),
            figure(edit.high, numbers.ms(edit.high)),
            figure(edit.speedup, numbers.times(edit.speedup)),
        )
        for edit in diagnosis.what_if
    ]
    heads = (Head("edit", "name"), Head("step"), Head("low"), Head("high"), Head("speedup"))
    return [table("what-if", "Step after each edit alone", heads, rows)] if rows else []


def changes(diagnosis: Diagnosis) -> list[Block]:
    """What to do, the first open."""
    rows = [_change(diagnosis, change) for change in diagnosis.prescriptions]
    if not rows:
        reason = "No changes: they need a verdict, and this recording carries none."
        decided = diagnosis.verdict.name != "undecided"
        return [
            missing("No change of the catalogue fits what was recorded." if decided else reason)
        ]
    paying = any(change.pays for change in diagnosis.prescriptions)
    told = sentences.nothing_pays(diagnosis)
    first = [] if paying else [prose(f"{told[0].upper()}{told[1:]}.", "soft")]
    return [*first, {"kind": "changes", "rows": rows}]


def _change(diagnosis: Diagnosis, change: Prescription) -> dict[str, Any]:
    told = "" if change.pays else "; gains less than 2% now"
    costs = (
        (f"cost, {name}", sanitize.shown(text)) for name, text in vars(change.costs).items() if text
    )
    return {
        "id": sanitize.shown(change.id),
        "title": sanitize.shown(change.title),
        "gain": f"{sentences.gain(diagnosis, change)}{told}",
        "pairs": (
            ("why", sentences.why(change)),
            ("stop when", sanitize.shown(change.stop_when)),
            *costs,
        ),
        "how": "\n".join(_code(change.how)),
    }


def _code(raw: str) -> Iterator[str]:
    yield from (sanitize.shown(row.expandtabs(4)) for row in raw.splitlines())
