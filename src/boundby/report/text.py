"""The report as text: the verdict first, the next command to type last."""

from __future__ import annotations

from dataclasses import dataclass

from boundby.diagnose import Diagnosis
from boundby.report import blocks, roofline_table, tables
from boundby.report.layout import BLANK, LABEL_WIDTH, Line
from boundby.report.terminal import Look, draw

BLOCK, SLIVER = "\u2588", "\u258f"
"""A full and a left-aligned eighth block: bars where the terminal can show them."""


@dataclass(frozen=True)
class Tables:
    """Which tables to print after the report.

    Attributes:
        ops: Rows of the operator table; 0 for none.
        ranges: Whether to print named ranges and host waits.
        roofline: Whether to print what stands under the roofs.
    """

    ops: int = 0
    ranges: bool = False
    roofline: bool = False


def render(diagnosis: Diagnosis, look: Look, wanted: Tables | None = None) -> str:
    """The whole report, ending in a newline."""
    space = blocks.Space(width=look.width - LABEL_WIDTH, detail=look.detail)
    if look.unicode:
        space = blocks.Space(space.width, BLOCK, SLIVER, look.detail)
    groups = [*blocks.report_lines(diagnosis, space)]
    if wanted and wanted.ops:
        groups.append(tables.ops(diagnosis, look.width, wanted.ops))
    if wanted and wanted.ranges:
        groups += [tables.ranges(diagnosis, look.width), tables.syncs(diagnosis, look.width)]
    if wanted and wanted.roofline:
        groups += roofline_table.tables(diagnosis.roofline, look.width, detail=look.detail)
    groups.append(blocks.following(diagnosis, space))
    lines: list[Line] = []
    for group in filter(None, groups):
        lines += [BLANK, *group] if lines else group
    return draw(lines, look)
