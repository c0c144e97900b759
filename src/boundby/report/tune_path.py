"""The path of a tuning run as a picture: step time and peak memory of each trial, side by side."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from boundby.report import numbers, sanitize
from boundby.report.layout import Line, Space, Span

Point = dict[str, Any]
GIB = 1 << 30
LEAST_BAR = 6
NAME, DECISION, FIGURE = 30, 10, 10
MARKS = {"baseline": "", "kept": "strong", "rejected": "warning", "failed": "warning"}


def picture(points: Sequence[Point], space: Space) -> list[Line]:
    """One line a trial: what, decision, step time and peak memory with a bar each."""
    name = min(NAME, max((len(title(each)) for each in points), default=0) + 1)
    room = space.width - name - DECISION - 2 * FIGURE - 3
    bar = max(room // 2, LEAST_BAR)
    head = f"{'change':<{name}}{'':<{DECISION}}{'step':<{FIGURE + bar + 2}}peak memory"
    rows: list[Line] = [(Span(head, "dim"),)]
    steps = [each["step_ms"] for each in points]
    peaks = [each["peak_bytes"] for each in points]
    for each, step, peak in zip(points, steps, peaks, strict=True):
        style = MARKS.get(each["decision"], "dim")
        shown = title(each)[: name - 1]
        rows.append(
            (
                Span(f"{shown:<{name}}{each['decision']:<{DECISION}}", style),
                Span(f"{numbers.ms(step) if step else '-':<{FIGURE}}"),
                Span(f"{_bar(step, steps, bar, space):<{bar + 2}}", "host"),
                Span(f"{size(peak):<{FIGURE}}"),
                Span(_bar(peak, peaks, bar, space), "device"),
            )
        )
    return rows


def title(point: Point) -> str:
    """``larger-batch 64``; the change alone where its value says nothing."""
    value = point.get("value")
    said = "" if value in (None, "true") else f" {value}"
    return sanitize.visible(f"{point['change']}{said}")


def size(count: float | None) -> str:
    """Bytes as GiB or MiB."""
    if count is None:
        return "-"
    if count >= GIB:
        return numbers.quantity(count / GIB, "GiB")
    return numbers.quantity(count / (GIB >> 10), "MiB")


def _bar(value: float | None, every: Sequence[float | None], width: int, space: Space) -> str:
    most = max((each for each in every if each is not None), default=0.0)
    if value is None or not most:
        return ""
    return space.full * round(width * value / most) or space.sliver
