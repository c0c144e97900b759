"""The tables a profiler would print, per step: operators, named ranges, host waits."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from boundby.diagnose import Diagnosis
from boundby.evidence.tables import OpRow
from boundby.report import numbers, sanitize
from boundby.report.layout import Line, Span, line

COLUMN = 9
LEAST_NAME = 16
ALL_COLUMNS = 95
"""Narrower than this, names need the room of the figures that follow from others."""


def ops(diagnosis: Diagnosis, width: int, limit: int) -> list[Line]:
    """Operators and launch calls, and below them how busy the device is against the wall clock."""
    heads = ("calls", "host self", "total", "dev self", "total", "host us", "dev us")
    most = len(heads) if width >= ALL_COLUMNS else heads.index("host us")
    rows = [_op(row)[: 1 + most] for row in diagnosis.ops[:limit]]
    title = f"ops, ms a step ({len(rows)} of {len(diagnosis.ops)})"
    lines = table(title, heads[:most], width, rows)
    return [*lines, line(_busy_against_wall(diagnosis), "dim")] if lines else []


def ranges(diagnosis: Diagnosis, width: int) -> list[Line]:
    """Named ranges and phases."""
    rows = [
        (row.name, numbers.count(row.count), _figure(row.host_ms), _figure(row.device_ms))
        for row in diagnosis.ranges
    ]
    return table("ranges, ms a step", ("count", "host", "device"), width, rows)


def syncs(diagnosis: Diagnosis, width: int) -> list[Line]:
    """Kinds of host wait: what was queued when they happened, and what removing them would save."""
    rows = [
        (
            row.kind,
            numbers.count(row.count_per_step),
            _figure(row.outstanding_device_ms),
            _figure(row.cost_ms),
        )
        for row in diagnosis.syncs
    ]
    return table("host waits, ms a step", ("count", "queued", "cost"), width, rows)


def _op(row: OpRow) -> tuple[str, ...]:
    return (
        sanitize.kernel(row.name),
        numbers.count(row.calls),
        _figure(row.self_host_ms),
        _figure(row.total_host_ms),
        _figure(row.self_device_ms),
        _figure(row.total_device_ms),
        _per_call(row.self_host_ms, row.calls),
        _per_call(row.self_device_ms, row.calls),
    )


def _per_call(total_ms: float, calls: float) -> str:
    """Microseconds of one call: the two columns beside it in another form."""
    return numbers.number(total_ms * 1000 / calls) if calls else "-"


def _figure(value: float | None) -> str:
    return "-" if value is None else numbers.number(value)


def table(
    title: str, heads: Sequence[str], width: int, rows: Iterable[Sequence[str]]
) -> list[Line]:
    """A name column that takes what the figures leave; nothing where there are no rows."""
    room = max(width - COLUMN * len(heads) - len(heads), LEAST_NAME)
    lines: list[Line] = [
        (Span(sanitize.fit(sanitize.shown(name), room)), Span(_figures(figures)))
        for name, *figures in rows
    ]
    return [*_head(title, heads, room), *lines] if lines else []


def _head(title: str, heads: Sequence[str], room: int) -> list[Line]:
    """The title above the names, or on a line of its own where it is longer than they are."""
    figures = Span(_figures(heads), "dim")
    if sanitize.cells(title) <= room:
        return [(Span(sanitize.fit(title, room), "heading"), figures)]
    return [line(title, "heading"), (Span(" " * room), figures)]


def _figures(texts: Sequence[str]) -> str:
    return "".join(f" {text:>{COLUMN}}" for text in texts)


def _busy_against_wall(diagnosis: Diagnosis) -> str:
    free, device = diagnosis.steps.unprofiled_ms, diagnosis.device
    if free is None or device.ms_per_step is None:
        return "device busy against wall: unknown"
    return (
        f"device busy {numbers.ms(device.ms_per_step)} of {numbers.ms(free.estimate)} "
        f"({numbers.share(device.busy_share_unprofiled)}) without the profiler, "
        f"{numbers.share(device.busy_share_observed)} of the recorded window"
    )
