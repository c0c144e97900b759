"""Whether a series rises: the Mann-Kendall test, and how fast: the Theil-Sen slope."""

from __future__ import annotations

from dataclasses import dataclass
from math import erfc, factorial, sqrt

import numpy as np

from boundby.read.recording import Ints

LONGEST = 64
"""Values looked at; more are thinned out evenly, since the test compares all pairs."""

LEAST = 5
"""Fewer values cannot rise with a probability of chance below 1%."""

CHANCE = 0.01
STEADY = 0.8
"""Of many stacks some rise by chance, but not steadily."""


@dataclass(frozen=True)
class Trend:
    """How a series changes.

    Attributes:
        slope: Median change per value (Theil-Sen): outliers do not bend it.
        chance: Probability that a series without a trend looks like this, of rising; 1 sided.
        is_sawtooth: It rises and falls back again, as memory does that waits for a collector.
    """

    slope: float
    chance: float
    steady: float
    """Share of the changes that are no fall."""
    is_sawtooth: bool

    @property
    def rises(self) -> bool:
        """Whether it rises beyond chance, and hardly ever falls."""
        return self.slope > 0 and self.chance <= CHANCE and self.steady >= STEADY


def trend(series: Ints) -> Trend:
    """The trend of values at equal distances."""
    step = max(1, -(-len(series) // LONGEST))
    values = series[::step].astype(np.float64)
    count = len(values)
    if count < LEAST:
        return Trend(0.0, 1.0, 0.0, is_sawtooth=False)
    rows, columns = np.triu_indices(count, 1)
    differences = values[columns] - values[rows]
    slope = float(np.median(differences / (columns - rows))) / step
    score = float(np.sign(differences).sum())
    _, ties = np.unique(values, return_counts=True)
    variance = (
        count * (count - 1) * (2 * count + 5) - float((ties * (ties - 1) * (2 * ties + 5)).sum())
    ) / 18
    chance = 1.0 if variance <= 0 or score <= 0 else erfc((score - 1) / sqrt(2 * variance)) / 2
    if score == len(differences):  # one order of all: exact, where the normal law is too careful
        chance = 1 / factorial(count)
    steady = float((np.diff(values) >= 0).mean())
    return Trend(slope, chance, steady, _is_sawtooth(values))


def _is_sawtooth(values: np.ndarray) -> bool:
    """Whether it falls at once by what several rises had added, and rises again."""
    change = np.diff(values)
    rises = change[change > 0]
    if len(rises) < LEAST - 1:
        return False
    falls = np.flatnonzero(change < -2 * np.median(rises))
    mostly_rises = int((change < 0).sum()) * 4 <= len(change)
    return bool(len(falls)) and bool(falls[0] < len(change) - 1) and mostly_rises
