"""The page of a live run: that of its diagnosis, with what only a live run knows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import PurePath
from typing import Any

from boundby.capture.device_memory import DeviceMemory
from boundby.capture.findings import LiveRun
from boundby.diagnose import Diagnosis
from boundby.evidence.excerpts import Excerpt
from boundby.memory.diagnose import MemoryDiagnosis
from boundby.report import host_memory, numbers, run_memory, run_sections, sanitize
from boundby.report.memory_pictures import Canvas
from boundby.report.page.diagnosis import Extras, page_of
from boundby.report.page.memory import memory_panels
from boundby.report.page.parts import (
    Block,
    Head,
    Page,
    Panel,
    bars_height,
    chart,
    code,
    figure,
    heading,
    listing,
    missing,
    pairs,
    prose,
    table,
    words,
)
from boundby.report.page.tables import sources
from boundby.report.run_document import run_document
from boundby.report.run_text import why_no_trace
from boundby.report.terminal import Look, draw

Charts = dict[str, Any]
TEXT_WIDTH = 100
"""Columns of what is shown as plain text."""
GROUPS = {
    "user": "python",
    "framework": "op",
    "preprocessing": "data",
    "logging": "range",
    "waiting": "sync",
}
LINES = (Head("where", "text"), Head("ms a step", order="descending"), Head("kind", "text"))
LOOP = (Head("where", "text"), Head("ms a step", order="descending"), Head("each step?", "text"))
WAITS = (Head("where", "text"), Head("a step", order="descending"), Head("kind", "text"))


def run_page(
    run: LiveRun,
    diagnosis: Diagnosis | None,
    excerpts: tuple[Excerpt, ...] = (),
    memory: DeviceMemory | None = None,
) -> Page:
    """The whole page.

    Args:
        diagnosis: Of the trace; None where the program ended before one was there.
        memory: By the snapshot or the message that the run kept; None where it kept neither.
    """
    charts: Charts = {}
    lanes: dict[str, Any] = {}
    live = (*_live(run, charts, excerpts if diagnosis is None else ()),)
    memories = _memory(run, memory, charts, lanes)
    whole = run_document(run, diagnosis, memory)
    if diagnosis is not None:
        extras = Extras(excerpts, live, memories, charts, lanes, document=whole)
        return _as_run(page_of(diagnosis, extras), run, diagnosis)
    head: Block = {"kind": "headline", "words": [why_no_trace(run)], "figures": []}
    missed = listing([f"Everything that a trace tells: {why_no_trace(run)}."])
    panels = (
        Panel("verdict", "undecided", (head,), short="Verdict"),
        *live,
        *memories,
        Panel("not-measured", "What was not measured", (missed,), short="Not measured"),
    )
    name = sanitize.shown(run.script)
    return Page(f"undecided: {name}", name, panels, charts, lanes, whole)


def _as_run(page: Page, run: LiveRun, diagnosis: Diagnosis) -> Page:
    """The page under the name of the script, with its own clock where nothing was estimated."""
    name = sanitize.shown(PurePath(run.script).name)
    page = replace(page, source=name, title=f"{diagnosis.verdict.name}: {name}")
    if diagnosis.steps.unprofiled_ms is not None or run.clocks.wall is None:
        return page
    first = page.panels[0]
    clock = {
        "name": "step, unobserved",
        "value": numbers.ms(run.clocks.wall),
        "note": f"median of {run.clocks.steps} steps without any observer",
    }
    head = {**first.blocks[0], "figures": [clock, *first.blocks[0]["figures"][1:]]}
    return replace(
        page, panels=(replace(first, blocks=(head, *first.blocks[1:])), *page.panels[1:])
    )


def _live(run: LiveRun, charts: Charts, excerpts: tuple[Excerpt, ...]) -> Iterator[Panel]:
    said = pairs(
        [
            ("run", run_sections.what_ran(run)),
            ("clocks", run_sections.clocks(run.clocks)),
            ("observed", run_sections.ratios(run.passes)),
            ("warm-up", run_sections.warm_up(run.warm_up)),
            ("ended", "; ".join(run_sections.endings(run))),
            ("loader", run_sections.loader(run.loader) if run.loader else ""),
        ]
    )
    beware = [f"`{sanitize.shown(each.id)}` {sanitize.shown(each.text)}" for each in run.notices]
    beware += [sanitize.shown(text) for text in run.problems]
    notes = [heading("Beware"), listing(beware)] if beware else []
    if run.host_memory is not None:
        notes += [
            heading("Host memory"),
            code(draw(host_memory.rows(run.host_memory, TEXT_WIDTH), Look())),
        ]
    yield Panel("run", "The run", (said, *notes), short="Run")
    yield Panel("lines", "Lines of your code", tuple(_lines(run, charts, excerpts)), short="Lines")


def _lines(run: LiveRun, charts: Charts, excerpts: tuple[Excerpt, ...]) -> Iterator[Block]:
    """Host time by kind and by line, the loop, and the lines that wait."""
    yield heading("Host time by kind")
    yield from _split(run, charts)
    rows = [
        (words(run_sections.place(row.place)), figure(row.ms), words(row.kind)) for row in run.lines
    ]
    yield heading("Lines with most host time")
    none = missing("No lines: no sample fell into your code.")
    yield table("lines", "Host time by line", LINES, rows) if rows else none
    rows = [
        (
            words(run_sections.place(row.place)),
            figure(row.ms),
            words(row.each_step if row.part == "other" else row.part),
        )
        for row in run.loop
    ]
    yield heading("The loop, line by line")
    none = missing("No loop: no sample fell into a training loop.")
    yield table("loop", "Lines of the loop", LOOP, rows) if rows else none
    rows = [
        (words(run_sections.place(row.place)), figure(row.count_per_step), words(row.kind))
        for row in run.waits
    ]
    yield heading("Lines that wait for the device")
    none = missing("No lines wait for the device, or the pass that looks for them did not run.")
    yield table("wait-lines", "Lines that wait", WAITS, rows) if rows else none
    yield from sources(excerpts)


def _split(run: LiveRun, charts: Charts) -> Iterator[Block]:
    if not run.split:
        yield missing("Not sampled: the stacks pass did not run.")
        return
    rows = [
        {
            "name": row.kind,
            "size": row.ms,
            "group": GROUPS.get(row.kind, "other"),
            "text": f"{numbers.ms(row.ms)}  {numbers.share(row.share)}",
            "hint": "",
        }
        for row in run.split
    ]
    charts["split"] = {"kind": "bars", "axis": "ms a step", "rows": rows}
    told = ", ".join(f"{row['name']} {row['text']}" for row in rows)
    yield chart("split", f"Host time by kind: {told}", bars_height(rows))
    if run.bias:
        yield prose(sanitize.shown(f"Sampled: {run.bias}"), "soft")


def _memory(
    run: LiveRun, memory: DeviceMemory | None, charts: Charts, lanes: dict[str, Any]
) -> tuple[Panel, ...]:
    """Of the snapshot that was kept, else of torch's message, else the peaks that were read."""
    read = run_sections.memory(run.memory) if run.memory else ""
    told: list[Block] = [prose(read)] if read else []
    if memory is not None:
        groups = run_memory.groups(memory, Canvas(TEXT_WIDTH, unicode=False), detail=False)
        told.append(code("\n".join(draw(rows, Look()) for rows in groups if rows)))
    if isinstance(memory, MemoryDiagnosis):
        first, *others = memory_panels(memory, charts, lanes)
        return (Panel(first.id, first.title, (*told, *first.blocks), first.short), *others)
    if memory is not None:
        return (Panel("memory", "Memory", tuple(told)),)
    if not read:
        return ()
    none = missing("No memory over time: the run kept no snapshot (`boundby run --snapshot`).")
    return (Panel("memory", "Memory", (prose(read), none)),)
