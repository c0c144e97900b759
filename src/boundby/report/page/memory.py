"""Panels and pages on memory: over time, what it is made of, who holds it, and the segments."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePath
from typing import Any

from boundby.memory.diagnose import MemoryDiagnosis
from boundby.memory.facts import GIB, KIB, MIB, Fact, size_text
from boundby.memory.message import TextDiagnosis
from boundby.memory.pictures import Row, Timeline
from boundby.memory.remedies import Remedy
from boundby.memory.verdicts import Verdict
from boundby.report import numbers, sanitize
from boundby.report.memory_document import snapshot_document, text_document
from boundby.report.memory_next import NextCommand, next_commands, next_for_text
from boundby.report.memory_text import meaning, place
from boundby.report.page.lanes import lanes_block
from boundby.report.page.parts import (
    Block,
    Head,
    Page,
    Panel,
    bars_height,
    chart,
    figure,
    heading,
    listing,
    missing,
    pairs,
    prose,
    table,
    words,
)

Charts = dict[str, Any]

SEGMENTS = 32
FEWEST_POINTS = 2
PARTS = {
    "parameters": "compute",
    "gradients": "python",
    "optimizer": "optimizer",
    "activations": "data",
    "temporaries": "submission",
    "workspace": "index",
    "communication": "communication",
    "other": "other",
    "before-recording": "range",
    "cache": "device",
    "context": "profiler",
}
"""Keys of the palette in ``data/page/common.js``."""
NO_HISTORY = "No memory over time: the snapshot holds no history of allocations."
HELD = (
    Head("held by", "text"),
    Head("part", "text"),
    Head("blocks"),
    Head("size", order="descending"),
    Head("shape, guessed", "text"),
)


def snapshot_page(diagnosis: MemoryDiagnosis) -> Page:
    """The page of one device of a snapshot."""
    charts: Charts = {}
    lanes: dict[str, Any] = {}
    panels = (
        _verdict(diagnosis.verdict, diagnosis.evidence, _figures(diagnosis)),
        *memory_panels(diagnosis, charts, lanes),
        Panel("changes", "What to do", tuple(_remedies(diagnosis.prescriptions))),
        _evidence(diagnosis.evidence),
        _quality(diagnosis),
        Panel("not-measured", "What was not measured", (listing(_unmeasured(diagnosis)),)),
        _next(next_commands(diagnosis)),
    )
    name = _name(diagnosis.source.path)
    title = f"{diagnosis.verdict.name}: {name}"
    return Page(title, name, panels, charts, lanes, snapshot_document(diagnosis))


def text_page(diagnosis: TextDiagnosis, path: str) -> Page:
    """The page of an out-of-memory message."""
    message = diagnosis.message
    asked = {
        "name": "asked for",
        "value": "unknown" if message.requested is None else size_text(message.requested),
        "note": "" if message.free is None else f"{size_text(message.free)} free on the device",
    }
    pictures = missing("No pictures: a message holds no history. `boundby memory SNAPSHOT` draws.")
    panels = (
        _verdict(diagnosis.verdict, diagnosis.evidence, [asked]),
        Panel("memory", "Memory", (pictures,)),
        Panel("changes", "What to do", tuple(_remedies(diagnosis.prescriptions))),
        _evidence(diagnosis.evidence),
        _next(next_for_text(diagnosis)),
    )
    name = _name(path)
    return Page(
        f"{diagnosis.verdict.name}: {name}", name, panels, document=text_document(diagnosis, path)
    )


def memory_panels(
    diagnosis: MemoryDiagnosis, charts: Charts, lanes: dict[str, Any]
) -> tuple[Panel, ...]:
    """Memory over time, its parts, its holders, and the segments."""
    made = (heading("Made of"), *_composition(diagnosis, charts))
    held = (heading("Held by"), *_holders(diagnosis))
    return (
        Panel("memory", "Memory over time", tuple(_curve(diagnosis.timeline, charts))),
        Panel("composition", "What the memory is", (*made, *held), short="Parts"),
        Panel("segments", "Segments", tuple(_segments(diagnosis, lanes))),
    )


def _name(path: str) -> str:
    return sanitize.shown(PurePath(path).name or path)


def _verdict(verdict: Verdict, evidence: Sequence[Fact], figures: list[dict[str, str]]) -> Panel:
    title = verdict.name + (f", {verdict.strength}" if verdict.strength else "")
    said = [
        meaning(verdict),
        f"Cause: `{sanitize.shown(verdict.cause)}`." if verdict.cause else "",
    ]
    head: Block = {"kind": "headline", "words": [t for t in said if t], "figures": figures}
    because = [fact for fact in evidence if fact.id in verdict.because]
    blocks = [heading("Because"), _facts(because)] if because else []
    return Panel("verdict", title, (head, *blocks), short="Verdict")


def _figures(diagnosis: MemoryDiagnosis) -> list[dict[str, str]]:
    case = diagnosis.case
    found = [
        {
            "name": "in use at most",
            "value": size_text(int(case.history.live_curve.max())),
            "note": f"{size_text(case.fragmentation.reserved_peak)} reserved at most",
        }
    ]
    if case.refusal is not None:
        free = case.refusal.device_free
        found.append(
            {
                "name": "refused",
                "value": size_text(case.refusal.size),
                "note": f"at {size_text(case.peak.live)} in use"
                + ("" if free is None else f", {size_text(free)} free on the device"),
            }
        )
    steps = f"{len(case.steps)} steps by {case.steps.source}" if len(case.steps) else "none found"
    found.append({"name": "steps", "value": str(len(case.steps)), "note": steps})
    return found


def _curve(timeline: Timeline, charts: Charts) -> list[Block]:
    """Memory in use and reserved, with the peak and refusals marked."""
    if len(timeline.live) < FEWEST_POINTS:
        return [missing(NO_HISTORY)]
    most = max(int(timeline.reserved.max()), int(timeline.live.max()))
    unit, size = next((each for each in SIZES if most >= each[1]), SIZES[-1])
    live, kept = timeline.live.tolist(), timeline.reserved.tolist()
    charts["memory"] = {
        "kind": "curve",
        "axis": "events of the allocator",
        "unit": unit,
        "x": timeline.start.tolist(),
        "series": [
            {"name": "in use", "group": "used", "values": [each / size for each in live]},
            {"name": "reserved", "group": "sync", "values": [each / size for each in kept]},
        ],
        "parts": [
            {"name": part, "group": PARTS[part], "values": (curve / size).tolist()}
            for part, curve in timeline.made_of
        ],
        "hints": [
            [
                f"{size_text(used)} in use",
                f"{size_text(whole)} reserved",
                *(f"{part} {size_text(int(of[at]))}" for part, of in timeline.made_of if of[at]),
                _moment(timeline, at),
            ]
            for at, (used, whole) in enumerate(zip(live, kept, strict=True))
        ],
        "marks": [
            {"at": timeline.peak, "text": "peak", "bad": False},
            *({"at": at, "text": "refused", "bad": True} for at in timeline.refusals[-3:]),
        ],
    }
    label = f"Memory over time: {size_text(max(live))} in use at most, {size_text(most)} reserved"
    caption = "The most of each stretch of the history, and what it was made of."
    return [chart("memory", label, 300, caption)]


SIZES = (("GiB", GIB), ("MiB", MIB), ("KiB", KIB), ("bytes", 1))


def _moment(timeline: Timeline, at: int) -> str:
    """The event at which a stretch begins, and when that was."""
    text = f"event {int(timeline.start[at])} of the allocator"
    first, time = int(timeline.time[0]), int(timeline.time[at])
    return f"{text}, {numbers.ms((time - first) / 1e6)} after the first" if time >= 0 else text


def _composition(diagnosis: MemoryDiagnosis, charts: Charts) -> list[Block]:
    """Parts of the memory at the peak or at the refusal."""
    whole = diagnosis.case.peak.reserved or 1
    shares = [each for each in diagnosis.case.composition if each.bytes]
    if not shares:
        return [missing("No parts: nothing was in use.")]
    most = max(each.bytes or 0 for each in shares)
    unit, size = next((each for each in SIZES if most >= each[1]), SIZES[-1])
    rows = [
        {
            "name": each.part,
            "size": (each.bytes or 0) / size,
            "group": PARTS[each.part],
            "text": f"{size_text(each.bytes or 0)}  {_share(each.part, each.bytes, whole)}"
            f"{each.confidence}",
            "hint": each.basis,
        }
        for each in shares
    ]
    charts["composition"] = {"kind": "bars", "axis": unit, "rows": rows}
    told = ", ".join(f"{row['name']} {row['text']}" for row in rows)
    when = "at the refusal" if diagnosis.case.refusal else "at the peak"
    caption = f"Reserved memory {when}; the last word says how sure the part is."
    return [chart("composition", f"Memory {when}: {told}", bars_height(rows), caption)]


def _share(part: str, count: int | None, whole: int) -> str:
    """Of what is reserved; what lies outside of it has none."""
    return "" if part == "context" or count is None else f"{numbers.share(count / whole)}  "


def _holders(diagnosis: MemoryDiagnosis) -> list[Block]:
    """Who made what is in use, the largest first."""
    rows = []
    for holder in diagnosis.case.peak.holders:
        origin = holder.origin
        where = (
            words(place(origin.place))
            if origin.place
            else words(sanitize.shown(origin.op or origin.phase.name.lower()))
        )
        op = f" of {sanitize.shown(origin.op)}" if origin.op and origin.place else ""
        rows.append(
            (
                where,
                words(f"{holder.part}{op}"),
                figure(holder.blocks, str(holder.blocks)),
                figure(holder.bytes, size_text(holder.bytes)),
                words(sanitize.shown(holder.shape) or "-"),
            )
        )
    if not rows:
        return [missing("No holders: nothing was in use.")]
    return [table("holders", "Who holds the memory", HELD, rows)]


def _segments(diagnosis: MemoryDiagnosis, lanes: dict[str, Any]) -> list[Block]:
    """The largest segments, block by block."""
    rows = sorted(diagnosis.segments.rows, key=lambda row: -row.size)[:SEGMENTS]
    if not rows:
        return [missing("No segments: none was reserved.")]
    lanes["segments"] = {
        "unit": "bytes",
        "length": max(row.size for row in rows),
        "tracks": [_segment(row) for row in rows],
        "names": [],
        "shapes": [],
        "places": [],
        "depth": None,
    }
    rest = diagnosis.segments.left_out + len(diagnosis.segments.rows) - len(rows)
    caption = "One segment a lane, the largest first; grey is free."
    caption += f" {rest} smaller segments are not drawn." if rest else ""
    label = f"{len(rows)} segments and the blocks in use inside them"
    return [lanes_block("segments", label, caption, find=False)]


def _segment(row: Row) -> dict[str, Any]:
    """Blocks in use and the free room between them."""
    pieces: list[tuple[int, int, int]] = []
    at = 0
    for start, size in row.blocks:
        if start > at:
            pieces.append((at, start - at, 1))
        pieces.append((start, size, 0))
        at = start + size
    if at < row.size:
        pieces.append((at, row.size - at, 1))
    starts = [start for start, _, _ in pieces]
    kind = " small" if row.is_small else " graph" if row.pool else ""
    used = numbers.share(row.live / max(row.size, 1))
    return {
        "name": f"{size_text(row.size)}, {used}{kind}",
        "kinds": ["used", "free"],
        "height": 14,
        "s": [now - before for before, now in zip([0, *starts], starts, strict=False)],
        "d": [size for _, size, _ in pieces],
        "k": [kind_ for _, _, kind_ in pieces],
    }


def _remedies(remedies: Sequence[Remedy]) -> list[Block]:
    if not remedies:
        return [missing("No change is called for.")]
    return [{"kind": "changes", "rows": [_remedy(each) for each in remedies]}]


def _remedy(remedy: Remedy) -> dict[str, Any]:
    costs = (
        (f"cost, {name}", sanitize.shown(text)) for name, text in vars(remedy.costs).items() if text
    )
    why = (("why", sanitize.shown(remedy.why)),) if remedy.why else ()
    where = (("where", place(remedy.where[0])),) if remedy.where else ()
    return {
        "id": remedy.id,
        "title": remedy.title,
        "gain": f"saves up to {size_text(remedy.saves)}" if remedy.saves else "",
        "pairs": (*why, *where, ("stop when", remedy.stop_when), *costs),
        "how": remedy.how,
    }


def _facts(found: Sequence[Fact]) -> Block:
    rows = [
        {
            "id": fact.id,
            "text": sanitize.shown(fact.text)
            + (f" ({place(fact.where[0])})" if fact.where else ""),
            "tag": fact.trust,
            "style": "",
        }
        for fact in found
    ]
    return {"kind": "facts", "rows": rows}


def _evidence(found: Sequence[Fact]) -> Panel:
    block = _facts(found) if found else missing("No facts: nothing could be measured.")
    return Panel("evidence", "Evidence", (block,))


def _quality(diagnosis: MemoryDiagnosis) -> Panel:
    rows = [
        {
            "id": sanitize.shown(each.id),
            "text": sanitize.shown(each.message),
            "tag": each.severity,
            "style": each.severity,
        }
        for each in diagnosis.quality
    ]
    nothing = prose("Nothing is wrong with the snapshot as far as can be seen.")
    findings: Block = {"kind": "facts", "rows": rows} if rows else nothing
    capacity = diagnosis.case.capacity
    caliber = pairs(
        [
            ("device", str(diagnosis.device)),
            ("its memory", "unknown" if capacity is None else size_text(capacity)),
            (
                "snapshot",
                f"{sanitize.shown(diagnosis.source.format)}, {diagnosis.source.events} events",
            ),
        ]
    )
    return Panel("quality", "Quality and caliber", (findings, caliber), short="Quality")


def _unmeasured(diagnosis: MemoryDiagnosis) -> list[str]:
    """What a snapshot does not hold."""
    found = ["Time: a snapshot says nothing of the step; `boundby trace` and `boundby run` do."]
    unknown = [each.part for each in diagnosis.case.composition if each.bytes is None]
    if unknown:
        found.append(f"The size of {', '.join(unknown)}: it is outside of the allocator.")
    if not len(diagnosis.case.steps):
        found.append("Growth from step to step: no steps were found in the history.")
    if len(diagnosis.devices) > 1:
        found.append(f"Other devices: the snapshot holds {len(diagnosis.devices)}, one is shown.")
    return found


def _next(commands: Sequence[NextCommand]) -> Panel:
    rows = [f"`{sanitize.shown(each.command)}`  {each.question}" for each in commands]
    return Panel("next", "Next", (listing(rows),))
