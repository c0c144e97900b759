"""Units used inside boundby: integer nanoseconds and bytes; conversion happens on the way out."""

from __future__ import annotations

NS_PER_US = 1_000
NS_PER_MS = 1_000_000
NS_PER_S = 1_000_000_000


def ms(ns: float) -> float:
    """Nanoseconds as milliseconds."""
    return float(ns) / NS_PER_MS


def us(ns: float) -> float:
    """Nanoseconds as microseconds."""
    return float(ns) / NS_PER_US
