"""The page of a measurement: its clocks with their spread, every sample, and what to trust."""

from __future__ import annotations

import json
from typing import Any

from boundby.bench.result import Clock, Result
from boundby.evidence.words import unit_for
from boundby.report import bench as text
from boundby.report import numbers, sanitize
from boundby.report.page.parts import (
    Block,
    Head,
    Page,
    Panel,
    bars_height,
    chart,
    figure,
    missing,
    pairs,
    prose,
    table,
)
from boundby.units import NS_PER_MS

HEADS = (
    Head("clock", "name"),
    Head("median"),
    Head("q1"),
    Head("q3"),
    Head("p95"),
    Head("samples"),
)
FEWEST = 2
"""Samples that make a curve."""


def bench_page(result: Result) -> Page:
    """The whole page."""
    charts: dict[str, Any] = {}
    title = sanitize.shown(result.labels.title) or "bench"
    panels = (
        _verdict(result, title),
        Panel("clocks", "Clocks", tuple(_clocks(result, charts))),
        Panel("samples", "Samples in their order", tuple(_samples(result, charts))),
        Panel("trust", "Trust and caliber", tuple(_trust(result)), short="Trust"),
    )
    return Page(
        f"bench: {title}", "bench", panels, charts, document=json.loads(text.encode(result))
    )


def _verdict(result: Result, title: str) -> Panel:
    figures = [
        {
            "name": f"{name} time a call",
            "value": text.time(clock.summary.median),
            "note": text.MEANING[name],
        }
        for name, clock in text.named_clocks(result)
    ]
    said = [text.reading(result), text.warm_up(result)]
    head: Block = {"kind": "headline", "words": said, "figures": figures}
    return Panel("verdict", title, (head,), short="Result")


def _clocks(result: Result, charts: dict[str, Any]) -> list[Block]:
    clocks = text.named_clocks(result)
    if not clocks:
        return [missing("No clocks: no sample was taken.")]
    longest = max(clock.summary.median for _, clock in clocks) / NS_PER_MS
    unit, size = unit_for(longest)
    rows = [_range(name, clock, size * NS_PER_MS) for name, clock in clocks]
    charts["clocks"] = {"kind": "ranges", "axis": f"{unit} a call", "rows": rows}
    told = ", ".join(f"{row['name']} {row['text']}" for row in rows)
    caption = "The diamond is the median, the bar the middle half of the samples."
    return [chart("clocks", f"Clocks: {told}", bars_height(rows) + 20, caption), _table(clocks)]


def _range(name: str, clock: Clock, size: float) -> dict[str, Any]:
    found = clock.summary
    return {
        "name": name,
        "value": found.median / size,
        "low": found.q1 / size,
        "high": found.q3 / size,
        "text": f"{text.time(found.median)}  IQR {text.time(found.iqr)}",
        "hint": text.MEANING[name],
    }


def _table(clocks: list[tuple[str, Clock]]) -> Block:
    rows = []
    for name, clock in clocks:
        found = clock.summary
        times = (found.median, found.q1, found.q3, found.p95)
        cells = (figure(each, text.time(each)) for each in times)
        rows.append((figure(None)._replace(text=name), *cells, figure(found.n, str(found.n))))
    return table("clocks", "Time of a call by clock", HEADS, rows)


def _samples(result: Result, charts: dict[str, Any]) -> list[Block]:
    """Wall time of every sample: drift and outliers show here."""
    samples = result.wall.ns
    if len(samples) < FEWEST:
        return [missing("No curve: fewer than two samples were taken.")]
    unit, size = unit_for(max(samples) / NS_PER_MS)
    values = [each / (size * NS_PER_MS) for each in samples]
    charts["samples"] = {
        "kind": "curve",
        "axis": "sample",
        "unit": f"{unit} a call",
        "x": list(range(1, len(values) + 1)),
        "series": [{"name": "wall", "group": "used", "values": values}],
        "hints": [[text.time(ns), f"sample {at}"] for at, ns in enumerate(samples, 1)],
        "marks": [],
        "ends": True,
    }
    label = f"Wall time of {len(samples)} samples"
    return [chart("samples", label, 260, f"Each is the mean of {result.wall.number} calls.")]


def _trust(result: Result) -> list[Block]:
    rows = [
        {
            "id": sanitize.shown(each.id),
            "text": sanitize.shown(each.message),
            "tag": each.severity,
            "style": each.severity,
        }
        for each in result.trust
    ]
    nothing = prose("Nothing speaks against these numbers.")
    peak = result.peak_bytes
    memory = "" if peak is None else numbers.quantity(peak / 2**20, "MiB")
    said = pairs(
        [
            ("caliber", sanitize.shown(text.caliber_of(result))),
            ("work", text.work_of(result)),
            ("peak memory", memory),
        ]
    )
    return [{"kind": "facts", "rows": rows} if rows else nothing, said]
