"""A result of ``bench`` as text, JSON or Markdown; and the table of several."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from boundby.bench.measurement import from_measurement
from boundby.bench.result import KIND, SCHEMA_VERSION, Clock, Result
from boundby.report import numbers, sanitize
from boundby.report.layout import LABEL_WIDTH, Line, Span, entry, line, paragraph, section
from boundby.report.terminal import Look, draw

CLOCKS = ("wall", "submit", "device")
MEANING = {
    "wall": "idle device to idle",
    "submit": "until the call returns",
    "device": "in its own queue",
}
HEADS = ("median", "IQR", "p95", "n")
NAME, COLUMN = 8, 9
"""Columns of a clock's name and of each figure: with what the clock shows, 80 in all."""


def time(ns: float | None) -> str:
    """A time in the unit that fits it."""
    if ns is None:
        return numbers.UNKNOWN
    for least, unit, scale in ((1e9, "s", 1e9), (1e6, "ms", 1e6), (1e3, "us", 1e3)):
        if abs(ns) >= least:
            return numbers.quantity(ns / scale, unit)
    return numbers.quantity(ns, "ns")


def render(result: Result, look: Look) -> str:
    """The report of one result, ending in a newline."""
    width = look.width - LABEL_WIDTH
    lines = [
        *section("bench", [line(sanitize.shown(result.labels.title), "strong")]),
        *section("clocks", _clocks(result, width)),
        *section("reading", paragraph(reading(result), width)),
        *section("work", paragraph(work_of(result), width)),
        *section("warm-up", paragraph(warm_up(result), width)),
        *section("trust", _trust(result, width)),
        *section("caliber", paragraph(sanitize.shown(caliber_of(result)), width, "dim")),
    ]
    return draw(lines, look)


def encode(result: Result) -> str:
    """The saved form: what ``compare`` reads."""
    fields = msgspec.to_builtins(result)
    document = {"schema_version": SCHEMA_VERSION, "kind": KIND, **fields}
    return as_json(document)


def as_json(document: Any) -> str:  # noqa: ANN401 -- any plain value
    """Values as ASCII text that ends in a newline; what is no finite number is null."""
    plain = _finite(msgspec.to_builtins(document))
    return json.dumps(plain, indent=2, allow_nan=False) + "\n"


def _finite(value: Any) -> Any:  # noqa: ANN401 -- any plain value
    """JSON knows neither infinity nor NaN: unknown there."""
    if isinstance(value, dict):
        return {key: _finite(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def markdown(result: Result) -> str:
    """The result as Markdown."""
    rows = [f"| {name} | {' | '.join(_figures(clock))} |" for name, clock in named_clocks(result)]
    doubts = [f"- {each.severity}: `{each.id}` {each.message}" for each in result.trust]
    parts = [
        f"# {sanitize.shown(result.labels.title)}",
        "",
        f"| clock | {' | '.join(HEADS)} |",
        "| --- | ---: | ---: | ---: | ---: |",
        *rows,
        "",
        reading(result),
        *(["", "## Trust", "", *doubts] if doubts else []),
        "",
        "## Caliber",
        "",
        sanitize.shown(caliber_of(result)),
    ]
    return "\n".join(parts) + "\n"


def reading(result: Result) -> str:
    """What the three clocks say together, in a sentence."""
    wall = result.wall.summary.median
    if result.device is None:
        return "one clock decides on a CPU: the host executes what it submits"
    device = result.device.summary.median
    submit = result.submit.summary.median if result.submit.ns else 0.0
    busy = device / wall if wall else 0.0
    if busy >= BUSY:
        return f"the device is busy {numbers.share(min(busy, 1.0))} of the time: it sets the pace"
    if submit >= BUSY * wall:
        return (
            f"submission takes as long as the call, the device {numbers.share(busy)} of it: the "
            "host sets the pace"
        )
    return f"the device works {numbers.share(busy)} of the time; the rest is waiting of either side"


BUSY = 0.9
"""Above this share of the wall time a clock is the one that sets it."""


def compare_table(results: Iterable[Any], look: Look | None = None) -> str:
    """Results as torch's Compare prints them: a row a sub label, a column a description.

    Args:
        results: Of ``bench``, or Measurements of torch; equal places keep the last.
        look: How text may look; plain without one.

    Raises:
        UsageError: One of them is neither.
    """
    tables: dict[str, list[Result]] = {}
    given = [results] if isinstance(results, Result) else results
    for result in (each if isinstance(each, Result) else from_measurement(each) for each in given):
        tables.setdefault(result.labels.label or "bench", []).append(result)
    lines = [row for label, group in tables.items() for row in _table(label, group)]
    return draw(lines, look or Look())


def _table(label: str, group: Sequence[Result]) -> list[Line]:
    columns = list(dict.fromkeys(r.labels.description or "time" for r in group))
    rows = list(dict.fromkeys(r.labels.sub_label or r.labels.stmt for r in group))
    cells = {
        (r.labels.sub_label or r.labels.stmt, r.labels.description or "time"): _cell(r)
        for r in group
    }
    first = max(sanitize.cells(sanitize.shown(each)) for each in [*rows, label])
    wide = [
        max(
            sanitize.cells(sanitize.shown(each)), *(len(cells.get((row, each), "")) for row in rows)
        )
        for each in columns
    ]
    head = _filled(label, first) + "".join(
        f"  {' ' * (size - sanitize.cells(sanitize.shown(each)))}{sanitize.shown(each)}"
        for each, size in zip(columns, wide, strict=True)
    )
    body = [
        _filled(row, first)
        + "".join(
            f"  {cells.get((row, each), ''):>{size}}"
            for each, size in zip(columns, wide, strict=True)
        )
        for row in rows
    ]
    return [line(head, "heading"), *map(line, body)]


def _filled(name: str, size: int) -> str:
    shown = sanitize.shown(name)
    return shown + " " * (size - sanitize.cells(shown))


def _cell(result: Result) -> str:
    return time(result.wall.summary.median) + ("" if result.is_trusted else " !")


def named_clocks(result: Result) -> list[tuple[str, Clock]]:
    """The clocks that have samples, by name."""
    found = [(name, getattr(result, name)) for name in CLOCKS]
    return [(name, clock) for name, clock in found if clock is not None and clock.ns]


def _clocks(result: Result, width: int) -> list[Line]:
    head = " " * NAME + "".join(f"{each:>{COLUMN}}" for each in HEADS)
    lines: list[Line] = [line(head, "dim")]
    room = width - len(head)
    for name, clock in named_clocks(result):
        figures = "".join(f"{each:>{COLUMN}}" for each in _figures(clock))
        meaning = f"  {MEANING[name]}"
        told = Span(meaning if len(meaning) <= room else "", "dim")
        lines.append((Span(f"{name:{NAME}}", "strong"), Span(figures), told))
    return lines


def _figures(clock: Clock) -> tuple[str, ...]:
    figures = clock.summary
    return time(figures.median), time(figures.iqr), time(figures.p95), str(figures.n)


def work_of(result: Result) -> str:
    """What one call does, and how far it is from its floor."""
    work = result.work
    if work.launches is None:
        why = "there is no device" if result.device is None else "its profiler is in use"
        return f"not counted: {why}"
    parts = [f"{work.launches} device rows a call"]
    if work.flops:
        parts.append(f"at least {work.flops / 1e9:.3g} GFLOP")
    if work.bytes:
        parts.append(f"{work.bytes / 1e6:.3g} MB")
    if work.floor_ns and result.device:
        share = work.floor_ns / result.device.summary.median
        parts.append(f"floor {time(work.floor_ns)} on {work.roofs}, {numbers.share(share)} of it")
    return ", ".join(parts)


def warm_up(result: Result) -> str:
    """How long it took to settle, and what the first calls paid for."""
    warm = result.warm_up
    if not warm.calls:
        return "unknown: the samples were taken elsewhere"
    costs = ", ".join(f"{each.text} {time(each.ns)}" for each in warm.first)
    steady = "steady" if warm.is_steady else "not steady"
    return f"{steady} after {warm.calls} calls, {time(warm.ns)}" + (f"; {costs}" if costs else "")


def _trust(result: Result, width: int) -> list[Line]:
    lines: list[Line] = []
    for each in result.trust:
        head = Span(f"{each.severity}: {each.id}  ", each.severity)
        lines += entry(head, sanitize.shown(each.message), width, column=len(head.text))
    return lines or [line("nothing speaks against these numbers")]


def caliber_of(result: Result) -> str:
    """What makes the figures comparable, in a line."""
    caliber = result.caliber
    parts = [f"{caliber.scope} {caliber.metric}", caliber.device]
    parts += [f"torch {caliber.torch}"] if caliber.torch else []
    parts += [f"CUDA {caliber.cuda}"] if caliber.cuda else []
    parts += [caliber.dtype] if caliber.dtype else []
    parts += [" ".join(caliber.shapes)] if caliber.shapes else []
    parts += [f"batch {caliber.batch}"] if caliber.batch else []
    parts += ["cold cache" if result.is_cold else "hot cache"]
    dirty = {True: " with changes", False: "", None: ""}[caliber.is_dirty]
    parts += [f"commit {caliber.git_commit[:10]}{dirty}"] if caliber.git_commit else []
    return ", ".join(filter(None, parts))
