"""The steps under the roofs as Markdown: the same values as in the terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from boundby.evidence.roofs import Roofline, RoofRow
from boundby.report import numbers, roofline_table, sanitize

ROWS_SHOWN = 20

Table = Callable[[Sequence[str], Sequence[Sequence[str]]], list[str]]


def section(
    roofline: Roofline | None,
    table: Table,
    code: Callable[[str], str],
    text: Callable[[str], str],
) -> list[str]:
    """Use of the peaks, the operators, what costs more than it needs, and what is not counted.

    Args:
        table, code, text: How Markdown writes a table, a name, and plain words.
    """
    if roofline is None:
        return []
    lines = ["## Roofline", "", text(roofline_table.summary(roofline)) + "."]
    if roofline.ceilings is not None:
        lines.append(f"\nCeilings: {text(roofline.ceilings.document)}.")
    for part in _tables(roofline, table, code):
        lines += ["", *part] if part else []
    return lines


def _tables(roofline: Roofline, table: Table, code: Callable[[str], str]) -> Iterator[list[str]]:
    heads = ("operator", "calls", "ms", "TFLOP/s", "GB/s", "of roof", "limited by", "lost ms")
    rows = [_row(row, code) for row in roofline.operators[:ROWS_SHOWN]]
    yield table(heads, rows)
    wastes = [
        (
            waste.kind,
            numbers.count(waste.count),
            numbers.number(waste.ms),
            numbers.share(waste.share),
            "" if waste.saved_ms is None else numbers.number(waste.saved_ms),
        )
        for waste in roofline.wastes
    ]
    yield table(
        ("costs more than it needs", "count", "ms", "of device time", "saves ms, at most"), wastes
    )
    uncounted = [
        (code(sanitize.kernel(row.name)), numbers.number(row.ms), row.why)
        for row in roofline.uncounted[:ROWS_SHOWN]
    ]
    yield table(("not counted", "ms", "why"), uncounted)


def _row(row: RoofRow, code: Callable[[str], str]) -> tuple[str, ...]:
    name, *figures = roofline_table.cells(row)
    return (code(name), *figures)
