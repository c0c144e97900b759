"""Numbers and lists inside the sentences of facts."""

from __future__ import annotations

from collections.abc import Sequence

PLAIN_FROM = 1000
"""From here three significant digits would need an exponent."""


def figure(value: float) -> str:
    """Three significant digits, or a whole number where there are more before the point."""
    return f"{value:.0f}" if abs(value) >= PLAIN_FROM else f"{value:.3g}"


def counted(value: float, noun: str) -> str:
    """A count or mean count with its noun: ``1 launch call``, ``2.5 launch calls``."""
    return f"{figure(value)} {noun}{'' if value == 1 else 's'}"


def often(value: float) -> str:
    """``once`` or ``2.5 times``."""
    return "once" if value == 1 else f"{figure(value)} times"


def listed(items: Sequence[object]) -> str:
    """``45``, ``45 and 51``, ``45, 51 and 60``."""
    *before, last = (str(item) for item in items)
    return f"{', '.join(before)} and {last}" if before else last
