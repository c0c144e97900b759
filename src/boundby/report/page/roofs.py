"""The roofline on the page: both roofs, what stands under them, and tables of kernels."""

from __future__ import annotations

from typing import Any

from boundby.diagnose import Diagnosis
from boundby.evidence.roofs import Roofline, RoofRow
from boundby.report import numbers, roofline_table, sanitize
from boundby.report.layout import plural
from boundby.report.page.parts import (
    Block,
    Cell,
    Head,
    chart,
    figure,
    missing,
    named,
    prose,
    table,
    words,
)
from boundby.report.roofline_table import SHORT, WHY
from boundby.roofline.ceilings import Ceilings

Charts = dict[str, Any]

HEIGHT = 400
DOTS = 60
LEAST_SHARE = 0.002
"""Operators with less of the device time are no dots: they would only stretch the axes."""
ROOFS = 4
"""Roofs that are drawn: more lie too close to be told apart."""

HEADS = (
    Head("name", "name"),
    Head("calls"),
    Head("ms", order="descending"),
    Head("TFLOP/s"),
    Head("GB/s"),
    Head("of roof"),
    Head("limit", "text"),
    Head("lost ms"),
)


def roofline(diagnosis: Diagnosis, charts: Charts) -> list[Block]:
    """The chart, or why there is none, and in a sentence how much of the device is used."""
    found = diagnosis.roofline
    if found is None:
        return [missing("No roofline: nothing was held against the roofs, as there is no verdict.")]
    summary = prose(roofline_table.summary(found))
    ceilings = found.ceilings
    if ceilings is None or not ceilings.memory_gbs or not ceilings.peak_tflops:
        reason = sanitize.shown(found.reason) or "its table has no peaks"
        return [missing(f"No roofline: the roofs of the device are not known: {reason}.")]
    whole = sum(row.ms for row in found.operators)
    counted = [row for row in found.operators if row.intensity and row.tflops]
    placed = [row for row in counted if row.ms >= LEAST_SHARE * whole][:DOTS]
    if not placed:
        return [summary, missing("No dots under the roofs: no operator has counted arithmetic.")]
    charts["roofline"] = _chart(ceilings, placed)
    left_out = len(found.operators) - len(placed)
    caption = (
        f"{plural(len(placed), 'operator')} by device time; circles are limited by compute, "
        "squares by memory, triangles by neither or unknown."
    )
    if left_out:
        caption += (
            f" {left_out} more, with less than {LEAST_SHARE:.1%} of the time or without counted "
            "arithmetic, stand in the table below."
        )
    label = "Roofline: " + ", ".join(f"{sanitize.shown(r.name)} {_hint(r)}" for r in placed[:8])
    return [summary, chart("roofline", label, HEIGHT, caption)]


def _chart(ceilings: Ceilings, placed: list[RoofRow]) -> dict[str, Any]:
    return {
        "kind": "roofline",
        "memory_gbs": ceilings.memory_gbs,
        "memory_text": f"{numbers.number(ceilings.memory_gbs)} GB/s",
        "roofs": _roofs(ceilings),
        "dots": [
            {
                "name": sanitize.cut(sanitize.shown(row.name), 80),
                "x": row.intensity,
                "y": row.tflops,
                "size": row.ms,
                "limit": row.limited_by,
                "text": f"{numbers.ms(row.ms)} a step, {numbers.count(row.calls)} calls",
                "hint": _hint(row),
            }
            for row in placed
        ],
    }


def _roofs(ceilings: Ceilings) -> list[dict[str, Any]]:
    """The distinct compute roofs, the highest first; equal ones share a line."""
    by_rate: dict[float, list[str]] = {}
    for key, rate in ceilings.peak_tflops.items():
        by_rate.setdefault(rate, []).append(SHORT.get(key, key))
    highest = sorted(by_rate.items(), reverse=True)[:ROOFS]
    return [
        {"tflops": rate, "text": f"{'/'.join(keys)} {numbers.number(rate)} TFLOP/s"}
        for rate, keys in highest
    ]


def _hint(row: RoofRow) -> str:
    return (
        f"{numbers.number(row.tflops)} TFLOP/s at {numbers.number(row.intensity)} FLOP per byte, "
        f"limit: {row.limited_by}"
    )


def kernels(diagnosis: Diagnosis) -> list[Block]:
    """Kernels by device time; without roofs their figures are unknown."""
    found = diagnosis.roofline
    if found is None or not found.kernels:
        return [missing("No kernels: none ran in the steps, or nothing was held against roofs.")]
    rows = [_row(row) for row in found.kernels]
    return [table("kernels", "Kernels, a step", HEADS, rows)]


def operators(found: Roofline | None) -> list[Block]:
    """Operators under the roofs."""
    if found is None or not found.operators:
        return []
    rows = [_row(row) for row in found.operators]
    return [table("roof-operators", "Operators under the roofs, a step", HEADS, rows)]


def uncounted(found: Roofline | None) -> list[Block]:
    """Device time whose work could not be counted, and why."""
    if found is None or not found.uncounted:
        return []
    heads = (Head("name", "name"), Head("ms", order="descending"), Head("why", "text"))
    rows = [(named(row.name), figure(row.ms), words(WHY[row.why])) for row in found.uncounted]
    return [table("uncounted", "Device time that is not counted, a step", heads, rows, first=6)]


def _row(row: RoofRow) -> tuple[Cell, ...]:
    _, calls, ms, tflops, gbs, of_roof, limit, lost = roofline_table.cells(row)
    share = row.compute_share if row.limited_by == "compute" else row.memory_share
    return (
        named(row.name),
        figure(row.calls, calls),
        figure(row.ms, ms),
        figure(row.tflops, tflops),
        figure(row.gbs, gbs),
        figure(share, of_roof) if share is not None else Cell(of_roof),
        words(limit),
        figure(row.lost_ms, lost),
    )
