"""What a loader does and could do, as text, JSON or Markdown."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from boundby.bench.loader import LoaderResult, Pass
from boundby.report import host_memory, numbers
from boundby.report.bench import as_json, time
from boundby.report.layout import LABEL_WIDTH, Line, Span, line, paragraph, section
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
        *section("loader", [(Span(WORDS[found.answer], "class"), Span(_against(found)))]),
        *section("batch", paragraph(_batch(measured), width)),
        *section("first", paragraph(_first(found), width)),
        *section("stages", [line(row) for row in _stages(measured)]),
        *section("memory", [line(row) for row in _memory(found)]),
        *section("host mem", host_memory.rows(found.host, width) if found.host else []),
        *section("settings", _sweep(found)),
        *section("best", [line(_best(found), "code")]),
        *section("notes", [row for note in found.notes for row in paragraph(note, width, "dim")]),
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
    best = ["", f"Best: `{_best(found)}`"]
    host = [f"- `{fact.id}`: {text(fact.text)}" for fact in found.host.facts] if found.host else []
    host = ["", "## Memory of the host", "", *host] if host else []
    return "\n".join([title, "", *head, *rows, *best, *host]) + "\n"


def _against(found: LoaderResult) -> str:
    if found.step_ms is None:
        return ""
    batch = found.measured.per_batch_ns / NS_PER_MS
    text = f": a batch takes {numbers.ms(batch)}, a step {numbers.ms(found.step_ms)}"
    if found.answer == "bottleneck":
        return f"{text}, {numbers.ms(batch - found.step_ms)} of each step are waiting"
    return f"{text}, {numbers.times(found.step_ms / batch)} its time"


def _batch(each: Pass) -> str:
    figures = each.summary
    if figures is None:
        return "one batch only"
    whole = "the whole pass" if each.is_whole else f"{len(each.batch_ns)} batches"
    busy = ""
    if each.worker_busy is not None:
        busy = f", workers busy {numbers.share(each.worker_busy)}"
    return (
        f"{time(each.per_batch_ns)} a batch, median wait {time(figures.median)}, p95 "
        f"{time(figures.p95)}; {_rate(each)} samples/s over {whole}{busy}"
    )


def _rate(each: Pass) -> str:
    return numbers.number(each.samples_per_s)


def _first(found: LoaderResult) -> str:
    return (
        f"{time(found.measured.first_ns)} to the first batch, {time(found.restart_ns)} again at "
        "the start of every pass without persistent workers"
    )


def _stages(each: Pass) -> Iterator[str]:
    if each.stages is None:
        yield numbers.UNKNOWN
        return
    for name, value in vars(each.stages).items():
        if value is not None:
            yield f"{name:10} {time(value):>10} a batch"


def _memory(found: LoaderResult) -> Iterator[str]:
    each = found.measured
    size = f"{each.batch_bytes / 2**20:.3g} MiB a batch"
    pinned = f", {found.pinned_bytes / 2**20:.3g} MiB page-locked" if found.pinned_bytes else ""
    yield size + pinned
    if each.private_bytes is None:
        return
    growth = each.growth_bytes or 0
    where = "a worker" if each.settings.workers else "the process"
    text = f"{each.private_bytes / 2**20:.3g} MiB of its own in {where}"
    yield text + (f", {growth / 2**20:.3g} MiB more at the end" if growth > GROWS else "")


def _sweep(found: LoaderResult) -> list[Line]:
    head = line(f"{'':62}{'batch':>10}{'first':>10}{'samples/s':>11}", "dim")
    rows = [
        line(
            f"{each.settings.text:62}{time(each.per_batch_ns):>10}{time(each.first_ns):>10}"
            f"{_rate(each):>11}{'  now' if each is found.measured else ''}"
        )
        for each in (found.measured, *found.sweep)
    ]
    return [head, *rows]


def _best(found: LoaderResult) -> str:
    gain = found.measured.per_batch_ns / max(found.best.per_batch_ns, 1.0)
    now = "as it is" if found.best is found.measured else f"{numbers.times(gain)} as fast"
    return f"{found.best.settings.text}: {now}"
