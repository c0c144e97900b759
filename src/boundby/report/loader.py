"""What a loader does and could do, as text, JSON or Markdown."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from boundby.bench.loader_values import LoaderResult, Pass
from boundby.memory.facts import size_text
from boundby.report import host_memory, numbers, sanitize
from boundby.report.bench import as_json, time
from boundby.report.layout import LABEL_WIDTH, Line, Span, lead, line, paragraph, section
from boundby.report.markdown import text
from boundby.report.terminal import Look, draw
from boundby.units import NS_PER_MS

SCHEMA_VERSION = 1
GROWS = 1 << 20
"""Growth of a worker below a MiB is no leak."""
WORDS = {
    "enough": "enough",
    "bottleneck": "the bottleneck",
    "near": "as slow as the step",
    "unknown": "no step time to compare with: --step-ms",
}


def render(found: LoaderResult, look: Look) -> str:
    """The report, ending in a newline."""
    width = look.width - LABEL_WIDTH
    measured = found.measured
    lines = [
        *section("loader", lead(Span(WORDS[found.answer], "class"), _against(found), width)),
        *section("batch", paragraph(_batch(measured), width)),
        *section("first", paragraph(_first(found), width)),
        *section("stages", [line(row) for row in _stages(measured)]),
        *section("memory", [part for row in _memory(found) for part in paragraph(row, width)]),
        *section("host mem", host_memory.rows(found.host, width) if found.host else []),
        *section("settings", _sweep(found, width)),
        *section("best", paragraph(_best(found), width, "code")),
        *section(
            "notes",
            [row for each in found.notes for row in paragraph(sanitize.shown(each), width, "dim")],
        ),
    ]
    return draw(lines, look)


def encode(found: LoaderResult) -> str:
    """The result as JSON."""
    head = {"schema_version": SCHEMA_VERSION, "kind": "boundby-loader", "answer": found.answer}
    return as_json({**head, "best": found.best.settings.text, **msgspec.to_builtins(found)})


def markdown(found: LoaderResult) -> str:
    """The result as Markdown."""
    rows = [
        f"| `{each.settings.text}` | {time(each.per_batch_ns)} | {time(each.first_ns)} | "
        f"{_rate(each)} |"
        for each in (found.measured, *found.sweep)
    ]
    head = ["| settings | batch | first batch | samples/s |", "| --- | ---: | ---: | ---: |"]
    title = f"# Loader: {WORDS[found.answer]}{_against(found)}"
    best = ["", f"Best: `{_best(found)}`" if found.sweep else f"Best: {_best(found)}"]
    host = [f"- `{fact.id}`: {text(fact.text)}" for fact in found.host.facts] if found.host else []
    host = ["", "## Memory of the host", "", *host] if host else []
    notes = ["", *(f"- {text(each)}" for each in found.notes)] if found.notes else []
    return "\n".join([title, "", *head, *rows, *best, *notes, *host]) + "\n"


def _against(found: LoaderResult) -> str:
    if found.step_ms is None:
        return ""
    batch = found.steady_ns / NS_PER_MS
    text = f": a batch takes {numbers.ms(batch)}, a step {numbers.ms(found.step_ms)}"
    if found.answer == "bottleneck":
        return f"{text}, {numbers.ms(batch - found.step_ms)} of each step are waiting"
    return f"{text}: {numbers.times(found.step_ms / batch)} as long"


def _batch(each: Pass) -> str:
    figures = each.summary
    if figures is None:
        return "one batch only"
    whole = "the whole pass" if each.is_whole else _batches(len(each.batch_ns))
    busy = ""
    if each.worker_busy is not None:
        busy = f", workers busy {numbers.share(each.worker_busy)}"
    return (
        f"{time(each.per_batch_ns)} a batch, median wait {time(figures.median)}, p95 "
        f"{time(figures.p95)}; {_rate(each)} samples/s over {whole}{busy}"
    )


def _batches(count: int) -> str:
    return "1 batch" if count == 1 else f"{count} batches"


def _rate(each: Pass) -> str:
    return numbers.number(each.samples_per_s)


def _first(found: LoaderResult) -> str:
    first = f"{time(found.measured.first_ns)} to the first batch"
    if found.restart_ns is None:
        return first
    without = " without persistent workers" if found.measured.settings.workers else ""
    return f"{first}, {time(found.restart_ns)} again at the start of every pass{without}"


def _stages(each: Pass) -> Iterator[str]:
    if each.stages is None:
        yield numbers.UNKNOWN
        return
    for name, value in vars(each.stages).items():
        if value is not None:
            yield f"{name:10} {time(value):>10} a batch"


def _memory(found: LoaderResult) -> Iterator[str]:
    each = found.measured
    pinned = f", {size_text(found.pinned_bytes)} page-locked" if found.pinned_bytes else ""
    yield f"{size_text(each.batch_bytes)} a batch{pinned}"
    if each.private_bytes is None:
        return
    growth = each.growth_bytes or 0
    where = "a worker" if each.settings.workers else "the process"
    text = f"{size_text(each.private_bytes)} of its own in {where}"
    yield text + (f", {size_text(growth)} more at the end" if growth > GROWS else "")


COLUMNS = (
    ("workers", 7),
    ("prefetch", 9),
    ("pin", 5),
    ("persistent", 11),
    ("batch", 10),
    ("first", 10),
    ("samples/s", 11),
)
"""Heads of the table of settings and their widths; with the mark of what is now 68 in all."""
NOW = "  now"
LESS = frozenset({"pin", "persistent", "samples/s"})
"""Columns that a narrow terminal does without."""


def _sweep(found: LoaderResult, width: int) -> list[Line]:
    fits = sum(size for _, size in COLUMNS) + len(NOW) <= width
    shown = [
        (at, head, size) for at, (head, size) in enumerate(COLUMNS) if fits or head not in LESS
    ]
    head = line("".join(f"{head:>{size}}" for _, head, size in shown), "dim")
    rows = [
        line(
            "".join(f"{_cells(each)[at]:>{size}}" for at, _, size in shown)
            + (NOW if each is found.measured else "")
        )
        for each in (found.measured, *found.sweep)
    ]
    return [head, *rows]


def _cells(each: Pass) -> tuple[str, ...]:
    now = each.settings
    return (
        str(now.workers),
        str(now.prefetch or "-"),
        "yes" if now.pin else "-",
        "yes" if now.persistent else "-",
        time(each.per_batch_ns),
        time(each.first_ns),
        _rate(each),
    )


def _best(found: LoaderResult) -> str:
    if not found.sweep:
        return "unknown: no other settings were measured"
    gain = found.measured.per_batch_ns / max(found.best.per_batch_ns, 1.0)
    now = "as it is" if found.best is found.measured else f"{numbers.times(gain)} as fast"
    return f"{found.best.settings.text}: {now}"
