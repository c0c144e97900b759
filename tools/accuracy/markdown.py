"""Numbers and tables as Markdown."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from tools.accuracy.scoring import Interval

TEN = 10.0
HUNDRED = 100.0


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """A Markdown table, one line a row."""
    lines = [head, ["---"] * len(head), *rows]
    return ["| " + " | ".join(_cell(cell) for cell in line) + " |" for line in lines]


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def percent(fraction: float) -> str:
    """A fraction in percent, to 0.1."""
    return f"{fraction:.1%}" if math.isfinite(fraction) else "not said"


def points(fraction: float) -> str:
    """A difference of two shares in points, to 0.1."""
    return f"{fraction * HUNDRED:.1f} points" if math.isfinite(fraction) else "not said"


def milliseconds(value: float | None) -> str:
    """A time to three digits."""
    if value is None:
        return "not said"
    if value >= HUNDRED:
        return f"{value:.0f}"
    return f"{value:.1f}" if value >= TEN else f"{value:.2f}"


def interval(ends: Interval) -> str:
    """Both ends, or the one value where they are written alike."""
    low, high = (milliseconds(end) for end in ends)
    return low if low == high else f"{low} to {high}"


def estimate(value: float | None, reach: Interval | None) -> str:
    """A prediction and its range."""
    if value is None or reach is None:
        return "not said"
    return f"{milliseconds(value)} [{milliseconds(reach[0])}, {milliseconds(reach[1])}]"


def yes(answer: bool | None) -> str:  # noqa: FBT001 - the only thing it takes
    """Yes, no, or a dash where nothing was asked."""
    return "-" if answer is None else "yes" if answer else "no"
