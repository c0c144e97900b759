"""The path of a tuning run as a picture: step time and peak memory of each trial, side by side."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from boundby.report import numbers, sanitize
from boundby.report.layout import Line, Space, Span

Point = dict[str, Any]
GIB = 1 << 30
LEAST_BAR = 4
"""Of fewer characters, bars say nothing: then figures stand alone."""
NAME, DECISION, FIGURE, GAP = 30, 10, 10, 2
LAST = len("peak memory")
LEAST_NAME = 8
"""What the narrowest terminal leaves for a name."""
MARKS = {"baseline": "", "kept": "strong", "rejected": "warning", "failed": "warning"}


def picture(points: Sequence[Point], space: Space) -> list[Line]:
    """One line a trial: decision, step time, throughput where the batch changed, peak memory."""
    name = min(NAME, max((len(title(each)) for each in points), default=0) + 1)
    rates = _rates(points)
    figures = DECISION + (2 if rates else 1) * FIGURE + LAST
    bar = (space.width - name - figures - GAP) // 2
    if bar < LEAST_BAR:
        bar, name = 0, max(min(name, space.width - figures), LEAST_NAME)
    wide = bar + GAP if bar else 0
    head = f"{'change':<{name}}{'':<{DECISION}}{'step':<{FIGURE + wide}}"
    head += f"{'samples/s':<{FIGURE}}" if rates else ""
    rows: list[Line] = [(Span(f"{head}peak memory", "dim"),)]
    steps, peaks = ([each[key] for each in points] for key in ("step_ms", "peak_bytes"))
    for number, (each, step, peak) in enumerate(zip(points, steps, peaks, strict=True)):
        shown = title(each)[: name - 1]
        rows.append(
            (
                Span(
                    f"{shown:<{name}}{each['decision']:<{DECISION}}",
                    MARKS.get(each["decision"], "dim"),
                ),
                Span(f"{numbers.ms(step) if step else '-':<{FIGURE}}"),
                Span(f"{_bar(step, steps, bar, space):<{wide}}", "host"),
                Span(f"{rates[number]:<{FIGURE}}" if rates else ""),
                Span(f"{size(peak):<{LAST}}"),
                Span(_bar(peak, peaks, bar, space), "device"),
            )
        )
    return rows


def _rates(points: Sequence[Point]) -> list[str]:
    """Samples a second of each trial; none where every step has as many samples."""
    shares = {
        round(each["step_ms"] * each["samples_per_s"] / 1e3)
        for each in points
        if each["step_ms"] and each["samples_per_s"]
    }
    if len(shares) < 2:  # noqa: PLR2004 -- one batch size
        return []
    return [
        numbers.number(each["samples_per_s"]) if each["samples_per_s"] else "-" for each in points
    ]


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
    if value is None or not most or not width:
        return ""
    return space.full * round(width * value / most) or space.sliver
