"""Numbers as text: three significant digits, a unit, and a word where a value is unknown."""

from __future__ import annotations

import math
import re

from boundby.evidence.words import UNITS, digits, duration, per_step

UNKNOWN = "unknown"

LEAST_SHARE = 0.005
"""Below half a percent a share is written ``<1%``, so that it does not read as nothing."""

MS_OF = dict(UNITS)
NUMBER = r"\d+(?:\.\d+)?(?:e[+-]?\d+)?"
TIME = re.compile(
    rf"(?<![\w.<])(?:(?P<first>{NUMBER})(?P<joint> (?:of|to|and|->) ))?"
    rf"(?P<last>{NUMBER}) (?P<unit>s|ms|us)\b"
)
SELDOM = re.compile(r"\b(?P<times>0\.\d+) times a step\b")
PLAIN = range(1, 1000)
"""Whole parts of numbers that need no other unit."""


def number(value: float | None) -> str:
    """Three significant digits, never an exponent."""
    return UNKNOWN if value is None or not math.isfinite(value) else digits(value)


def count(value: float | None) -> str:
    """A count or a mean count: whole numbers stand without a fraction."""
    if value is not None and value == int(value):
        return str(int(value))
    return number(value)


def quantity(value: float | None, unit: str) -> str:
    """A number with its unit: ``2.72 GiB``."""
    text = number(value)
    return text if text == UNKNOWN else f"{text} {unit}"


def ms(value: float | None, like: float | None = None) -> str:
    """A time given in milliseconds, in the unit that its size asks for: ``2.72 ms``, ``34.0 us``.

    Args:
        like: Milliseconds that choose the unit instead: one unit for a column.
    """
    if value is None or not math.isfinite(value):
        return UNKNOWN
    return duration(value, like)


def share(value: float | None) -> str:
    """A share of 1 as a whole percentage."""
    if value is None or not math.isfinite(value):
        return UNKNOWN
    return "<1%" if 0 < value < LEAST_SHARE else f"{value:.0%}"


def times(value: float | None) -> str:
    """A speedup: ``7.5x``; the word for unknown where there is none."""
    text = number(value)
    return text if text == UNKNOWN else f"{text}x"


def between(low: float | None, high: float | None) -> str:
    """A range of milliseconds: ``2.31 to 3.40 ms``; empty where an end is unknown."""
    return "" if low is None or high is None else _joined(low, "to", high)


def change(now: float | None, then: float | None) -> str:
    """A time that becomes another: ``4.02 -> 2.66 ms``, ``3.84 ms -> 362 us``."""
    if now is None or then is None:
        return ms(then)
    return _joined(now, "->", then)


def in_words(text: str) -> str:
    """A sentence whose times stand in the units that their sizes ask for.

    Sentences are made where values are known best, with one unit each; ``0.00568 ms`` and
    ``2.15e+04 us`` become ``5.68 us`` and ``21.5 ms``, what reads well stays as it is.
    """
    text = TIME.sub(_retold, text)
    return SELDOM.sub(lambda found: per_step(float(found["times"])), text)


def _retold(found: re.Match[str]) -> str:
    last, unit = float(found["last"]), found["unit"]
    if last == 0 or (int(last) in PLAIN and "e" not in found[0]):
        return found[0]
    told = duration(last * MS_OF[unit])
    if found["first"] is None:
        return told
    first = float(found["first"]) * MS_OF[unit]
    return _joined(first, found["joint"].strip(), last * MS_OF[unit])


def _joined(first: float, joint: str, last: float) -> str:
    """Two times and the word between them; the unit stands once where both have the same."""
    ahead, behind = duration(first), duration(last)
    unit = behind.partition(" ")[2]
    return f"{ahead.removesuffix(f' {unit}')} {joint} {behind}"
