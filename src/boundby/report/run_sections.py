"""The sections that only a live run has: its clocks, its lines, its loop, its waits."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from boundby.capture.clocks import Clocks, PassRow, WarmUp
from boundby.capture.findings import LiveRun, LoaderRow, MemoryRow
from boundby.capture.lines import LineRow, LoopRow, SplitRow, WaitRow
from boundby.evidence.facts import Place
from boundby.report import host_memory, numbers, sanitize
from boundby.report.layout import Line, Span, entry, line, paragraph, section

GIB = 1 << 30
LINES_SHOWN = 6
FIGURE = 9
SLOWER = "; submit was timed in slower steps of its own: the speed of the host varies"
OWN_COST = "what the sampler cost is in the times"
NO_OBSERVER = ("clean", "drained", "after")
"""Passes that observe nothing: their steps are told by the clocks."""
DRIFTED = 0.10
"""Clean steps before and after the trace that differ by more are told apart."""
SIGNS = {
    "grows": "more in use after each step",
    "fragments": "far more reserved than used",
    "peaks": "much of the peak comes and goes",
    "full": "nearly full",
    "retries": "the allocator ran out and tried again",
}
ENDED = {
    "KeyboardInterrupt": "it was interrupted",
    "SystemExit": "it ended by itself",
}


def measured(run: LiveRun, width: int) -> list[Line]:
    """What ran, its clocks, and what each pass added: the block that follows the verdict."""
    return [
        *section("run", paragraph(what_ran(run), width)),
        *section("clocks", paragraph(clocks(run.clocks, on_device=run.uses_device), width)),
        *section("observed", paragraph(ratios(run.passes), width, "dim")),
        *section("warm-up", paragraph(warm_up(run.warm_up), width, "dim")),
        *section("ended", [row for text in endings(run) for row in paragraph(text, width)]),
        *section("beware", [row for text in _warnings(run) for row in _problem(*text, width)]),
    ]


def details(run: LiveRun, width: int, *, all_of_it: bool) -> Iterator[list[Line]]:
    """Host time by kind and line, the loop, the waits, the loader and the memory."""
    most = None if all_of_it else LINES_SHOWN
    yield section("host time", host_time(run, width)) if run.uses_device else []
    yield section("lines", table(map(line_row, run.lines[:most]), width))
    yield section("loop", table(map(loop_row, run.loop[:most]), width))
    yield section("waits", waits(run.waits[:most], width, on_device=run.device is not None))
    yield section("loader", paragraph(loader(run.loader), width) if run.loader else [])
    yield section("allocator", paragraph(memory(run.memory), width) if run.memory else [])
    yield section("host mem", host_memory.rows(run.host_memory, width) if run.host_memory else [])


def what_ran(run: LiveRun) -> str:
    """``train.py: 412 steps by optimizer; folder ...``."""
    rank = f", rank {run.rank}" if run.rank is not None else ""
    source = f" by {run.source}" if run.source else ""
    text = f"{run.script}{rank}: {run.steps} steps seen{source}"
    if not run.finished:
        last = run.passes[-1].name if run.passes else "warm-up"
        text += f"; it ended in the {last} pass" if run.passes else "; it ended in warm-up"
    return sanitize.shown(f"{text}; kept in {run.folder}")


def clocks(found: Clocks, *, on_device: bool) -> str:
    """The clocks by name; without a device the host submits nothing that another clock times."""
    spread = numbers.between(found.low, found.high)
    text = f"wall {numbers.ms(found.wall)}"
    if on_device:
        text += f", submit {numbers.ms(found.submit)}, device {numbers.ms(found.device)}"
    text += " a step, unobserved"
    text += f" ({spread} over {found.steps} steps)" if spread else ""
    text += SLOWER if on_device and found.submits_slower else ""
    if found.after is not None and abs(found.after - 1) > DRIFTED:
        text += f"; after the trace {numbers.times(found.after)}"
    return text


def ratios(passes: Sequence[PassRow]) -> str:
    """Observed over unobserved, by pass; compiled frames where there are any."""
    shown = [
        f"{row.name} {numbers.times(row.ratio)}"
        for row in passes
        if row.ratio is not None and row.name not in NO_OBSERVER
    ]
    frames = sum(row.frames for row in passes)
    text = f"{', '.join(shown)} of the unobserved step" if shown else ""
    return f"{text}; {frames} frames compiled meanwhile" if text and frames else text


def warm_up(found: WarmUp) -> str:
    """How long it took to settle, and the longest step in it."""
    settled = "" if found.settled is not False else "; steps were still getting faster"
    longest = f", the longest {numbers.ms(found.longest_ms)}" if found.longest_ms else ""
    return f"{found.steps} steps{longest}{settled}" if found.steps else ""


def endings(run: LiveRun) -> Iterator[str]:
    """What ended the program, where it did not end well."""
    end = run.ending
    if end.exception:
        yield sanitize.shown(ENDED.get(end.exception, f"by an uncaught {end.exception}"))
    if end.out_of_memory:
        asked, free = end.out_of_memory
        yield f"out of device memory: {_gib(asked)} asked for, {_gib(free)} free"
    if end.message:
        yield sanitize.shown(end.message)


def of_host(run: LiveRun) -> list[tuple[str, str]]:
    """What is known, by name, of a program that uses no device; empty of one that does."""
    if run.uses_device:
        return []
    found = [("host time", split(run.split))] if run.split else []
    found += [("top line", f"{place(row.place)}, {top(row)}") for row in run.lines[:1]]
    if run.loader is not None and run.loader.share is not None:
        found.append(("loading", f"{numbers.share(run.loader.share)} of the step"))
    return found


def top(row: LineRow) -> str:
    """``28% of the host time, preprocessing``."""
    return f"{numbers.share(row.share)} of the host time, {row.kind}"


def opening(run: LiveRun, width: int) -> list[Line]:
    """What the report of a program without a device opens with, in place of a class."""
    rows = [line_ for name, text in of_host(run) for line_ in section(name, paragraph(text, width))]
    return [*rows, *section("", sampled(run, width))] if rows else []


def host_time(run: LiveRun, width: int) -> list[Line]:
    """Host time by kind, and what the sampler cannot see."""
    return [*paragraph(split(run.split), width), *sampled(run, width)] if run.split else []


def split(rows: Sequence[SplitRow]) -> str:
    """``framework 55% (2.54 ms), user 45% (2.10 ms) a step as sampled``."""
    shares = (f"{row.kind} {numbers.share(row.share)} ({numbers.ms(row.ms)})" for row in rows)
    return f"{', '.join(shares)} a step as sampled"


def sampled(run: LiveRun, width: int) -> list[Line]:
    """How far to trust what was sampled."""
    return paragraph(f"sampled: {run.bias}; {OWN_COST}", width, "dim") if run.bias else []


Cells = tuple[str, str, str]


def line_row(row: LineRow) -> Cells:
    """A line with its share and time, as sampled."""
    return figures(row.share, row.ms), place(row.place), row.kind


def loop_row(row: LoopRow) -> Cells:
    """A line of the loop with its share and time, its part and whether it must run."""
    words = f"at each step? {row.each_step}" if row.part == "other" else row.part
    return figures(row.share, row.ms), place(row.place), words


def figures(share: float, ms: float) -> str:
    """``28%   1.29 ms``."""
    return f"{numbers.share(share):>4} {numbers.ms(ms):>{FIGURE}}"


def waits(rows: Sequence[WaitRow], width: int, *, on_device: bool) -> list[Line]:
    """Lines that wait, with how often."""
    cells = [(numbers.count(row.count_per_step), place(row.place), row.kind) for row in rows]
    note = [] if on_device or not rows else [line("they would wait for a device", "dim")]
    return [*table(cells, width), *note]


def loader(row: LoaderRow) -> str:
    """Waits for batches."""
    text = f"{numbers.ms(row.wait_ms)} a batch"
    if row.workers is not None:
        text += f", {row.workers} workers" if row.workers else ", loaded in this process"
    if row.first_ms is not None:
        text += f"; first of an epoch {numbers.ms(row.first_ms)}"
    if row.start_ms is not None:
        text += f"; starting an epoch up to {numbers.ms(row.start_ms)}"
    if row.without_ms is not None:
        text += f"; a step whose batch is there takes {numbers.ms(row.without_ms)}"
    return text


def memory(row: MemoryRow) -> str:
    """Peaks against the capacity."""
    text = (
        f"peak {_gib(row.peak_allocated)} allocated, {_gib(row.peak_reserved)} reserved "
        f"of {_gib(row.capacity)}; {_gib(row.allocated)} at the end of a step"
    )
    text += f"; {row.retries} times freed and tried again" if row.retries else ""
    text += f"; sign of trouble: {SIGNS[row.sign]}" if row.sign in SIGNS else ""
    if row.history_kept is False:
        text += "; its history was not kept on after the passes, where steps take "
        text += f"{numbers.times(row.history_ratio)} with it: --snapshot keeps it on"
    return text


def table(rows: Iterator[Cells] | Sequence[Cells], width: int) -> list[Line]:
    """A figure, a place, and words wrapped beside them."""
    found = list(rows)
    column = max((len(where) for _, where, _ in found), default=0) + 2
    room = max(FIGURE, *(len(figure) for figure, _, _ in found)) if found else FIGURE
    lines: list[Line] = []
    for figure, where, words in found:
        head = f"{figure:>{room}}  {where:{column}}"
        if len(head) + len(words) <= width:
            lines.append((Span(head), Span(words, "dim")))
        else:
            lines += [line(head.rstrip()), line(" " * (room + 2) + words, "dim")]
    return lines


def place(where: Place) -> str:
    """``step, train.py:42``."""
    return sanitize.shown(f"{where.file}:{where.line} {where.function}")


def _warnings(run: LiveRun) -> Iterator[tuple[str, str]]:
    """What is wrong around the program, then what went wrong with the observation."""
    yield from ((each.id, each.text) for each in run.notices)
    yield from (("note", text) for text in run.problems)


def _problem(name: str, text: str, width: int) -> list[Line]:
    head = Span(f"{name}  ", "warning")
    return entry(head, sanitize.shown(text), width, column=len(head.text))


def _gib(size: int) -> str:
    return f"{numbers.number(size / GIB)} GiB"
