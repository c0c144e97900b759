"""Memory drawn with characters: its curve over the history, and segments block by block."""

from __future__ import annotations

from dataclasses import dataclass

from boundby.memory.facts import size_text
from boundby.memory.pictures import Row, SegmentMap, Timeline
from boundby.report.layout import Line, Span, line

HEIGHT = 6
EIGHTHS = " \u2581\u2582\u2583\u2584\u2585\u2586\u2587\u2588"
FREE, USED, LOW = "\u00b7", "\u2588", "\u2592"
ASCII_FREE, ASCII_USED, ASCII_LOW = ".", "#", "+"
MAP_ROWS = 16
HALF, EMPTY, FULL = 0.5, 0.02, 0.9
"""Parts of a cell: drawn at all in ASCII; free; in use."""


@dataclass(frozen=True)
class Canvas:
    """Columns, and whether characters outside ASCII may be drawn with."""

    width: int
    unicode: bool


def curve(timeline: Timeline, canvas: Canvas) -> list[Line]:
    """Memory in use as a filled curve; reserved memory above it; refusals and peak below."""
    count = len(timeline.live)
    room = max(min(canvas.width - 12, count), 1)
    top = max(int(timeline.reserved.max()), int(timeline.live.max()), 1)
    columns = [
        (at * count // room, max((at + 1) * count // room, at * count // room + 1))
        for at in range(room)
    ]
    live = [int(timeline.live[low:high].max()) for low, high in columns]
    kept = [int(timeline.reserved[low:high].max()) for low, high in columns]
    rows = [_curve_row(level, live, kept, top, canvas) for level in range(HEIGHT, 0, -1)]
    lines = [
        (
            Span(
                f"{_scale(level, top):>10} |",
                "dim",
            ),
            Span(row, "device"),
        )
        for level, row in zip(range(HEIGHT, 0, -1), rows, strict=True)
    ]
    used, free = (USED, FREE) if canvas.unicode else (ASCII_USED, ASCII_FREE)
    marks = [" "] * room
    marks[min(timeline.peak * room // count, room - 1)] = "^"
    for refusal in timeline.refusals:
        marks[min(refusal * room // count, room - 1)] = "X"
    legend = f"   (^ peak, X refused, {used} in use, {free} reserved)"
    return [*lines, line(" " * 12 + "".join(marks).rstrip()), line(legend, "dim")]


def _scale(level: int, top: int) -> str:
    """The label of a row: at the top and half way."""
    return size_text(top * level / HEIGHT) if level in (HEIGHT, HEIGHT // 2) else ""


def _curve_row(level: int, live: list[int], kept: list[int], top: int, canvas: Canvas) -> str:
    """One row of the curve, ``level`` of HEIGHT from the bottom."""
    low, step = top * (level - 1) / HEIGHT, top / HEIGHT
    free = FREE if canvas.unicode else ASCII_FREE
    drawn = []
    for used, reserved in zip(live, kept, strict=True):
        part = min(max((used - low) / step, 0.0), 1.0)
        coarse = ASCII_USED if part >= HALF else " "
        mark = EIGHTHS[round(part * 8)] if canvas.unicode else coarse
        drawn.append(free if mark == " " and reserved > low + step / 2 else mark)
    return "".join(drawn).rstrip()


def segments(found: SegmentMap, canvas: Canvas) -> list[Line]:
    """The largest segments, one a line: used, half used and free parts from left to right."""
    shown = sorted(found.rows, key=lambda row: -row.size)[:MAP_ROWS]
    shown.sort(key=lambda row: row.address)
    room = max(canvas.width - 34, 10)
    lines: list[Line] = []
    for row in shown:
        head = f"{size_text(row.size):>9} {row.live / max(row.size, 1):>5.0%}  "
        head += "small " if row.is_small else "graph " if row.pool else "      "
        lines.append((Span(head, "dim"), Span(_segment(row, room, canvas), "device")))
    rest = found.left_out + len(found.rows) - len(shown)
    if rest:
        lines.append(line(f"and {rest} more segments", "dim"))
    return lines


def _segment(row: Row, room: int, canvas: Canvas) -> str:
    used = [0.0] * room
    scale = room / max(row.size, 1)
    for start, size in row.blocks:
        low, high = start * scale, (start + size) * scale
        for cell in range(int(low), min(int(high) + 1, room)):
            used[cell] += max(min(high, cell + 1) - max(low, cell), 0.0)
    marks = (FREE, LOW, USED) if canvas.unicode else (ASCII_FREE, ASCII_LOW, ASCII_USED)
    return "".join(marks[(part > EMPTY) + (part >= FULL)] for part in used)
