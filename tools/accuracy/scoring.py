"""Errors, coverage and percentiles. Relative numbers are fractions: 0.02 is 2%."""

from __future__ import annotations

import math
from collections.abc import Sequence

Interval = tuple[float, float]


def distance(value: float | None, measured: Interval) -> float:
    """How far a value lies outside an interval, relative to the nearer end.

    0 inside; infinite where there is no value, so that silence never counts as right.
    """
    if value is None:
        return math.inf
    low, high = measured
    if value < low:
        return 1 - value / low
    return max(0.0, value / high - 1)


def meets(said: Interval | None, measured: Interval) -> bool:
    """Whether two intervals have a point in common."""
    return said is not None and said[0] <= measured[1] and said[1] >= measured[0]


def width(estimate: float, said: Interval) -> float:
    """Width of a range relative to its estimate."""
    return (said[1] - said[0]) / estimate if estimate else math.inf


def percentile(values: Sequence[float], rank: float) -> float:
    """The value below which ``rank`` percent lie, interpolated between the two nearest.

    Infinite values count; an interpolation towards one is infinite.
    """
    ordered = sorted(values)
    position = (len(ordered) - 1) * rank / 100
    below, above = ordered[math.floor(position)], ordered[math.ceil(position)]
    if below == above:
        return below
    return below + (above - below) * (position - math.floor(position))
