"""The report of a live run as text: the verdict first, then what only a live run knows."""

from __future__ import annotations

from boundby.capture.device_memory import DeviceMemory
from boundby.capture.findings import LiveRun
from boundby.diagnose import Diagnosis
from boundby.report import blocks, roofline_table, run_memory, run_sections, tables
from boundby.report.layout import BLANK, LABEL_WIDTH, Line, line, paragraph, section
from boundby.report.memory_pictures import Canvas
from boundby.report.terminal import Look, draw
from boundby.report.text import BLOCK, SLIVER, Tables

OPS_WITHOUT_DEVICE = 8
"""Operators shown of a program that uses no device: they are what there is to say."""
NO_TRACE = (
    "the program ended before a trace was there: let it run for more steps, or give --steps a "
    "smaller number"
)

NOT_TRACED = "no trace was made, and a verdict needs one: the pass is called trace"


def why_no_trace(run: LiveRun) -> str:
    """Why there is no verdict, where there is no trace."""
    return NOT_TRACED if run.finished else NO_TRACE


def render(
    run: LiveRun,
    diagnosis: Diagnosis | None,
    look: Look,
    wanted: Tables,
    memory: DeviceMemory | None = None,
) -> str:
    """The whole report, ending in a newline; the memory first where that ended the program."""
    width = look.width - LABEL_WIDTH
    space = blocks.Space(width, detail=look.detail)
    if look.unicode:
        space = blocks.Space(width, BLOCK, SLIVER, look.detail)
    groups = [*_verdict(run, diagnosis, space, width), run_sections.measured(run, width)]
    if memory is not None:
        canvas = Canvas(width, look.unicode)
        found = [*run_memory.groups(memory, canvas, detail=look.detail)]
        groups = [*found, *groups] if _ran_out(run) else [*groups, *found]
    groups += run_sections.details(run, width, all_of_it=look.detail)
    if diagnosis is not None:
        groups += _tables(diagnosis, look, wanted)
        groups.append(blocks.following(diagnosis, space))
    lines: list[Line] = []
    for group in filter(None, groups):
        lines += [BLANK, *group] if lines else group
    return draw(lines, look)


def _ran_out(run: LiveRun) -> bool:
    """Whether the program ended for want of memory."""
    return bool(run.ending.message) and run.ending.exception is not None


def _verdict(
    run: LiveRun, diagnosis: Diagnosis | None, space: blocks.Space, width: int
) -> list[list[Line]]:
    opening = run_sections.opening(run, width)
    if diagnosis is not None:
        first, *others = blocks.report_lines(diagnosis, space)
        return [first, opening, *others]
    why = paragraph(why_no_trace(run), width)
    return [section("verdict", [line("undecided", "class"), *why]), opening]


def _tables(diagnosis: Diagnosis, look: Look, wanted: Tables) -> list[list[Line]]:
    width, detail = look.width, look.detail
    has_device = diagnosis.device.has_work
    ops = wanted.ops or (0 if has_device else OPS_WITHOUT_DEVICE)
    groups = [tables.ops(diagnosis, width, ops)] if ops else []
    if wanted.ranges:
        groups += [tables.ranges(diagnosis, width), tables.syncs(diagnosis, width)]
    if wanted.roofline:
        groups += roofline_table.tables(diagnosis.roofline, width, detail=detail)
    return groups
