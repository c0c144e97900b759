"""The steps under the roofs, for a terminal: one line in the report, tables on demand."""

from __future__ import annotations

from collections.abc import Iterator

from boundby.evidence.roofs import Roofline, RoofRow, Uncounted
from boundby.report import numbers, sanitize
from boundby.report.layout import Line, line, paragraph
from boundby.report.tables import table
from boundby.roofline.ceilings import Ceilings

ROWS_SHOWN = 10
KERNELS_SHOWN = 5
HEADS = ("calls", "ms", "TFLOP/s", "GB/s", "of roof", "limit", "lost ms")
LIMIT = {"unknown": "-"}
WHY: dict[Uncounted, str] = {
    "no-rule": "no rule",
    "no-shapes": "no sizes",
    "no-operator": "no op",
}
REASON: dict[Uncounted, str] = {
    "no-rule": "there is no rule for the operators",
    "no-shapes": "no sizes were recorded (record_shapes=True)",
    "no-operator": "no operator launched the kernels (a CUDA graph, or compiled code)",
}


def summary(roofline: Roofline) -> str:
    """Use of both roofs in one sentence."""
    if roofline.ceilings is None:
        return f"unknown: {sanitize.shown(roofline.reason)}"
    if not roofline.counted:
        return f"nothing is counted: {_reason(roofline)}; {_named(roofline.ceilings)}"
    use = roofline.use
    parts = [
        f"MFU {numbers.share(use.mfu)}" if use.mfu is not None else "",
        f"memory {numbers.share(use.memory)} at least" if use.memory is not None else "",
        f"{numbers.share(roofline.counted)} of computing time counted",
    ]
    at_roof = sum(side.floor_ms for side in roofline.sides)
    now = sum(side.ms for side in roofline.sides)
    parts.append(f"kernels {numbers.ms(now)}, {numbers.ms(at_roof)} at their roofs")
    return f"{', '.join(filter(None, parts))}; {_named(roofline.ceilings)}"


def _reason(roofline: Roofline) -> str:
    """Why most of what is not counted is not."""
    return REASON[roofline.uncounted[0].why] if roofline.uncounted else "no kernel computes"


def _named(ceilings: Ceilings) -> str:
    return f"{sanitize.shown(ceilings.name)} ({ceilings.source})"


def tables(roofline: Roofline | None, width: int, *, detail: bool) -> Iterator[list[Line]]:
    """Roofs, operators, kernels, wastes, and what is not counted; everything with detail."""
    if roofline is None:
        yield [line("roofline: nothing was held against the roofs", "dim")]
        return
    yield _roofs(roofline, width, detail=detail)
    yield _rows("operators", roofline.operators, width, None if detail else ROWS_SHOWN)
    yield _rows("kernels", roofline.kernels, width, None if detail else KERNELS_SHOWN)
    yield _families(roofline, width)
    yield _wastes(roofline, width)
    yield _uncounted(roofline, width, None if detail else KERNELS_SHOWN)


def _roofs(roofline: Roofline, width: int, *, detail: bool) -> list[Line]:
    """The ceilings of the device, and how much of them the step uses."""
    if roofline.ceilings is None:
        return paragraph(f"roofs: unknown: {sanitize.shown(roofline.reason)}", width)
    rows = [_ceilings_row(roofline.ceilings)]
    if roofline.attainable is not None:
        rows.append(_ceilings_row(roofline.attainable))
    keys = list(roofline.ceilings.peak_tflops)
    heads = ("GB/s", *(SHORT.get(key, key) for key in keys))
    cells = [
        (name, *(_number(figures.get(key)) for key in ("memory_gbs", *keys)))
        for name, figures in rows
    ]
    ridge = roofline.ceilings.ridges()
    cells.append(("ridge, FLOP per byte", "", *(_number(ridge.get(key)) for key in keys)))
    note = roofline.ceilings.note if detail else ""
    return [
        *table("roofs, GB/s and TFLOP/s", heads, width, cells),
        *(paragraph(sanitize.shown(note), width, "dim") if note else []),
        *paragraph(summary(roofline), width),
    ]


SHORT = {"float32": "fp32", "float16": "fp16", "bfloat16": "bf16", "float8": "fp8"}


def _ceilings_row(ceilings: Ceilings) -> tuple[str, dict[str, float | None]]:
    figures: dict[str, float | None] = {
        "memory_gbs": ceilings.memory_gbs,
        **dict(ceilings.peak_tflops),
    }
    label = "attainable" if ceilings.source == "measured" else _named(ceilings)
    return label, figures


def _number(value: float | None) -> str:
    return "-" if value is None else numbers.number(value)


def _rows(title: str, rows: tuple[RoofRow, ...], width: int, most: int | None) -> list[Line]:
    shown = rows[:most]
    heading = f"{title}, a step ({len(shown)} of {len(rows)})"
    return table(heading, HEADS, width, map(cells, shown))


def cells(row: RoofRow) -> tuple[str, ...]:
    """Name and figures of a row, under HEADS."""
    return (
        sanitize.kernel(row.name),
        numbers.count(row.calls),
        numbers.number(row.ms),
        _number(row.tflops or None),
        _number(row.gbs),
        _of_roof(row),
        LIMIT.get(row.limited_by, row.limited_by),
        _number(row.lost_ms),
    )


def _of_roof(row: RoofRow) -> str:
    """Share of the roof that limits the row; a word where its figures were refused."""
    if row.doubt == "above-roof":
        return "refused"
    share = row.compute_share if row.limited_by == "compute" else row.memory_share
    return "-" if share is None else numbers.share(share)


def _families(roofline: Roofline, width: int) -> list[Line]:
    """Where device time goes by family, which names alone tell."""
    total = sum(row.ms for row in roofline.families)
    shares = [f"{row.family} {numbers.share(row.ms / total)}" for row in roofline.families if total]
    return paragraph(f"by family: {', '.join(shares)}", width) if shares else []


def _wastes(roofline: Roofline, width: int) -> list[Line]:
    rows = [
        (
            waste.kind,
            numbers.count(waste.count),
            numbers.number(waste.ms),
            numbers.share(waste.share),
            _number(None if waste.bytes is None else waste.bytes / 1e9),
            _number(None if waste.least_bytes is None else waste.least_bytes / 1e9),
            _number(waste.saved_ms),
        )
        for waste in roofline.wastes
    ]
    heads = ("count", "ms", "of device", "GB", "GB least", "saves ms")
    return table("costs more than it needs, a step", heads, width, rows)


def _uncounted(roofline: Roofline, width: int, most: int | None) -> list[Line]:
    shown = roofline.uncounted[:most]
    rows = [(sanitize.kernel(row.name), numbers.number(row.ms), WHY[row.why]) for row in shown]
    heading = f"not counted, a step ({len(shown)} of {len(roofline.uncounted)})"
    return table(heading, ("ms", "why"), width, rows)
