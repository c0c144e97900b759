"""Numbers as text: three significant digits, a unit, and a word where a value is unknown."""

from __future__ import annotations

import math

UNKNOWN = "unknown"

LEAST_SHARE = 0.005
"""Below half a percent a share is written ``<1%``, so that it does not read as nothing."""


def number(value: float | None) -> str:
    """Three significant digits without an exponent where that stays short."""
    if value is None or not math.isfinite(value):
        return UNKNOWN
    size = abs(value)
    for least, digits in ((99.95, 0), (9.995, 1), (0.9995, 2), (0.09995, 3)):
        if size >= least:
            return f"{value:.{digits}f}"
    return f"{value:.2g}" if size else "0"


def count(value: float | None) -> str:
    """A count or a mean count: whole numbers stand without a fraction."""
    if value is not None and value == int(value):
        return str(int(value))
    return number(value)


def quantity(value: float | None, unit: str) -> str:
    """A number with its unit: ``2.72 ms``."""
    text = number(value)
    return text if text == UNKNOWN else f"{text} {unit}"


def ms(value: float | None) -> str:
    """Milliseconds."""
    return quantity(value, "ms")


def share(value: float | None) -> str:
    """A share of 1 as a whole percentage."""
    if value is None or not math.isfinite(value):
        return UNKNOWN
    if 0 < value < LEAST_SHARE:
        return "<1%"
    if 1 - LEAST_SHARE < value < 1:
        return ">99%"
    return f"{value:.0%}"


def times(value: float | None) -> str:
    """A speedup: ``7.5x``; the word for unknown where there is none."""
    text = number(value)
    return text if text == UNKNOWN else f"{text}x"


def between(low: float | None, high: float | None) -> str:
    """A range without its unit: ``2.31 to 3.40``; empty where an end is unknown."""
    if low is None or high is None:
        return ""
    return f"{number(low)} to {number(high)}"
