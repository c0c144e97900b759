"""Numbers and units as ncu prints them, in any locale: ``1,234.5``, ``1.234,5``, ``1 234,5``.

Which mark is the decimal one is told by the file as a whole: ``1,234`` alone may be either.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from boundby.frozen import frozen

_NUMBER = re.compile(r"[+-]?\d[\d.,'\u2019\s\u00a0\u202f\u066c]*(?:[eE][+-]?\d+)?\Z")
_GROUPING = re.compile(r"['\u2019\s\u00a0\u202f\u066c]")
"""Marks that only ever group digits: apostrophes, and spaces of any width."""
_GROUP = 3
_PREFIXES = {"": 1.0, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15}
_SCALED = re.compile(r"([KMGTP])(?=byte|hz|inst|sector|cycle|request|warp|thread|block)")
_TIMES = {"n": 1.0, "u": 1e3, "m": 1e6, "": 1e9}
_TIME = re.compile(r"([num]?)(?:s|sec|second)\Z")
PERCENT = "%"


@frozen
class Numerals:
    """How a file writes numbers; ``decimal`` is ``.`` or ``,``."""

    decimal: str = "."

    def read(self, text: str) -> float | None:
        """The number in a text; None where it is none."""
        text = text.strip()
        if not _NUMBER.match(text):
            return None
        plain = _GROUPING.sub("", text)
        other = "," if self.decimal == "." else "."
        plain = plain.replace(other, "").replace(self.decimal, ".")
        try:
            return float(plain)
        except ValueError:
            return None


def find_numerals(values: Iterable[str]) -> Numerals:
    """The decimal mark that most values prove; a point where none proves any."""
    votes = {".": 0, ",": 0}
    for value in values:
        mark = _proven_decimal(_GROUPING.sub("", value.strip()))
        if mark:
            votes[mark] += 1
    return Numerals("," if votes[","] > votes["."] else ".")


def _proven_decimal(text: str) -> str | None:
    """The decimal mark of one number, where its own shape leaves no choice."""
    if not _NUMBER.match(text):
        return None
    marks = [each for each in text if each in ".,"]
    if not marks:
        return None
    if len(set(marks)) > 1:
        return marks[-1]
    mark = marks[0]
    if len(marks) > 1:
        return "," if mark == "." else "."
    before, _, after = text.lstrip("+-").partition(mark)
    is_group = len(after) == _GROUP and 0 < len(before) <= _GROUP and before != "0"
    return None if is_group else mark


def in_base_units(value: float, unit: str) -> float:
    """Nanoseconds for times, a share of 1 for percent, plain bytes, sectors and counts."""
    if unit == PERCENT:
        return value / 100
    time = _TIME.match(unit)
    if time:
        return value * _TIMES[time[1]]
    prefix = _SCALED.match(unit)
    return value * _PREFIXES[prefix[1] if prefix else ""]
