"""A measured fact about memory: value, unit, place in the code, and how far to trust it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Trust = Literal["measured", "derived", "estimated"]
Confidence = Literal["exact", "high", "moderate", "low"]

KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30


@dataclass(frozen=True)
class Place:
    """A line of the user's code; of a memory snapshot always the line that calls."""

    file: str
    line: int
    function: str
    exact: bool = True


@dataclass(frozen=True)
class Fact:
    """One fact.

    Attributes:
        id: Stable name; ``boundby explain ID`` explains it.
        value: The number; None where unknown.
        unit: ``bytes``, ``share``, ``count``, ``bytes/step``.
        text: One plain sentence with the value in it.
    """

    id: str
    value: float | None
    unit: str
    text: str
    trust: Trust = "measured"
    where: tuple[Place, ...] = ()


def size_text(count: float) -> str:
    """Bytes as text with three significant digits: ``1.5 GiB``."""
    value = abs(float(count))
    scales = (("GiB", GIB), ("MiB", MIB), ("KiB", KIB))
    unit, scale = next((each for each in scales if value >= each[1]), ("bytes", 1))
    if scale == 1:
        return f"{count:.0f} bytes"
    number = value / scale
    sign = "-" if count < 0 else ""
    digits = 0 if number >= 99.95 else 1 if number >= 9.995 else 2  # noqa: PLR2004 -- three digits
    return f"{sign}{number:.{digits}f} {unit}"
