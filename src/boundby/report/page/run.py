"""The page of a live run: that of its diagnosis, with what only a live run knows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import PurePath
from typing import Any

from boundby.capture.device_memory import DeviceMemory
from boundby.capture.findings import LiveRun
from boundby.capture.lines import LineRow, LoopRow
from boundby.diagnose import Diagnosis
from boundby.evidence.excerpts import Excerpt
from boundby.memory.diagnose import MemoryDiagnosis
from boundby.report import host_memory, numbers, run_memory, run_sections, sanitize
from boundby.report.memory_pictures import Canvas
from boundby.report.page.diagnosis import Extras, page_of
from boundby.report.page.memory import memory_panels
from boundby.report.page.parts import (
    Block,
    Cell,
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
SAMPLED = Head("share", order="descending"), Head("ms a step, as sampled", order="descending")
LINES = (Head("where", "text"), *SAMPLED, Head("kind", "text"))
LOOP = (Head("where", "text"), *SAMPLED, Head("each step?", "text"))
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
    head: Block = {"kind": "headline", "words": [why_no_trace(run), *_host(run)], "figures": []}
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
    """The page under the name of the script; it opens with the host where there is no device."""
    name = sanitize.shown(PurePath(run.script).name)
    page = replace(page, source=name, title=f"{diagnosis.verdict.name}: {name}")
    first, *others = page.panels
    head, *rest = first.blocks
    head = {**head, "words": [*head["words"], *_host(run)]}
    return replace(page, panels=(replace(first, blocks=(head, *rest)), *others))


def _host(run: LiveRun) -> list[str]:
    """What is known of a program that uses no device."""
    return [f"{name.capitalize()}: {text}." for name, text in run_sections.of_host(run)]


def _live(run: LiveRun, charts: Charts, excerpts: tuple[Excerpt, ...]) -> Iterator[Panel]:
    said = pairs(
        [
            ("run", run_sections.what_ran(run)),
            ("clocks", run_sections.clocks(run.clocks, on_device=run.uses_device)),
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
        (words(run_sections.place(row.place)), *_figures(row), words(row.kind)) for row in run.lines
    ]
    yield heading("Lines with most host time")
    none = missing("No lines: no sample fell into your code.")
    yield table("lines", "Host time by line", LINES, rows) if rows else none
    loop = [
        (
            words(run_sections.place(row.place)),
            *_figures(row),
            words(row.each_step if row.part == "other" else row.part),
        )
        for row in run.loop
    ]
    yield heading("The loop, line by line")
    none = missing("No loop: no sample fell into a training loop.")
    yield table("loop", "Lines of the loop", LOOP, loop) if loop else none
    waits = [
        (words(run_sections.place(row.place)), figure(row.count_per_step), words(row.kind))
        for row in run.waits
    ]
    yield heading("Lines that wait for the device")
    none = missing("No lines wait for the device, or the pass that looks for them did not run.")
    yield table("wait-lines", "Lines that wait", WAITS, waits) if waits else none
    yield from sources(excerpts)


def _figures(row: LineRow | LoopRow) -> tuple[Cell, Cell]:
    """A share and the time it is of, as sampled."""
    return figure(row.share, numbers.share(row.share)), figure(row.ms)


def _split(run: LiveRun, charts: Charts) -> Iterator[Block]:
    if not run.split:
        yield missing("Not sampled: the stacks pass did not run.")
        return
    rows = [
        {
            "name": row.kind,
            "size": row.ms,
            "group": GROUPS.get(row.kind, "other"),
            "text": f"{numbers.share(row.share)}  {numbers.ms(row.ms)}",
            "hint": "",
        }
        for row in run.split
    ]
    charts["split"] = {"kind": "bars", "axis": "ms a step, as sampled", "rows": rows}
    told = ", ".join(f"{row['name']} {row['text']}" for row in rows)
    yield chart("split", f"Host time by kind: {told}", bars_height(rows))
    if run.bias:
        yield prose(sanitize.shown(f"Sampled: {run.bias}; {run_sections.OWN_COST}"), "soft")


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
