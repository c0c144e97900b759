"""Samples of a time, and what two sets of them say about each other.

Times are right-skewed: now and then a sample is slow, never fast. Medians and ranks are used
throughout, means are kept only to be shown beside them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Effect = Literal["faster", "slower", "same", "too-noisy"]

CONFIDENCE = 0.95
PRACTICAL = 0.02
"""A change of less than 2% is not worth a verdict: run-to-run differences of one binary on one
machine (address layout, clocks) reach that (Mytkowicz et al., ASPLOS 2009)."""
ABSOLUTE_FLOOR_NS = 200.0
"""Nor is one below 0.2 us a call: twice the resolution of the loop around the call."""

FEWEST_PAIRS = 6
"""With fewer pairs no rank test reaches 95%: 2 / 2^6 is the first below 5%."""
EXACT_PAIRS = 50
RESAMPLES = 2000
LAST_QUINTILE = 5
"""Drift compares the first fifth of the samples with the last."""


@dataclass(frozen=True)
class Summary:
    """One set of samples, in the unit of the samples.

    Attributes:
        n: How many.
        median, mean: Of all.
        q1, q3: Quartiles, interpolated linearly.
        p5, p95: Percentiles likewise.
        least, most: Extremes.
    """

    n: int
    median: float
    mean: float
    q1: float
    q3: float
    p5: float
    p95: float
    least: float
    most: float

    @property
    def iqr(self) -> float:
        """Distance of the quartiles."""
        return self.q3 - self.q1

    @property
    def spread(self) -> float:
        """The interquartile range as a share of the median; 0 for a median of 0."""
        return self.iqr / self.median if self.median else 0.0

    @property
    def skew(self) -> float:
        """How far the mean lies above the median, as a share of the median."""
        return self.mean / self.median - 1 if self.median else 0.0


@dataclass(frozen=True)
class Ratio:
    """A ratio of two times, new over old, with its confidence interval.

    Attributes:
        pairs: How many pairs it rests on; 0 where the samples were not taken in turns.
    """

    estimate: float
    low: float
    high: float
    confidence: float = CONFIDENCE
    pairs: int = 0

    @property
    def half_width(self) -> float:
        """Half the interval."""
        return (self.high - self.low) / 2


def summarize(samples: Sequence[float]) -> Summary:
    """Summary of at least one sample.

    Raises:
        ValueError: There are none.
    """
    if not len(samples):
        raise ValueError("no samples")
    values = np.asarray(samples, dtype=np.float64)
    p5, q1, median, q3, p95 = np.quantile(values, (0.05, 0.25, 0.5, 0.75, 0.95))
    return Summary(
        n=len(values),
        median=float(median),
        mean=float(values.mean()),
        q1=float(q1),
        q3=float(q3),
        p5=float(p5),
        p95=float(p95),
        least=float(values.min()),
        most=float(values.max()),
    )


def drift(samples: Sequence[float]) -> float:
    """Median of the last fifth over that of the first, minus 1; 0 with fewer than ten samples."""
    part = len(samples) // LAST_QUINTILE
    if part < 2:  # noqa: PLR2004 -- a fifth of one sample is no median
        return 0.0
    first, last = float(np.median(samples[:part])), float(np.median(samples[-part:]))
    return last / first - 1 if first else 0.0


def paired_ratio(
    new: Sequence[float], old: Sequence[float], confidence: float = CONFIDENCE
) -> Ratio:
    """Ratio of samples taken in turns: what drifts slowly hits both of a pair and cancels.

    Hodges-Lehmann estimate of the log ratio and Wilcoxon's signed-rank interval around it
    (Hollander and Wolfe, Nonparametric Statistical Methods, 3.2 and 3.3).

    Raises:
        ValueError: Fewer than ``FEWEST_PAIRS`` pairs, unequal numbers, or a time of zero.
    """
    if len(new) != len(old) or len(new) < FEWEST_PAIRS:
        raise ValueError(f"{len(new)} and {len(old)} samples do not make {FEWEST_PAIRS} pairs")
    if min(new) <= 0 or min(old) <= 0:
        raise ValueError("a time must be positive")
    differences = np.log(np.asarray(new, np.float64)) - np.log(np.asarray(old, np.float64))
    low, estimate, high = _walsh_interval(differences, confidence)
    return Ratio(math.exp(estimate), math.exp(low), math.exp(high), confidence, len(new))


def _walsh_interval(differences: Floats, confidence: float) -> tuple[float, float, float]:
    """Low end, median and high end of the pairwise means."""
    n = len(differences)
    rows, columns = np.triu_indices(n)
    means = np.sort((differences[rows] + differences[columns]) / 2)
    below = _rank_below(n, confidence)
    return float(means[below]), float(np.median(means)), float(means[-1 - below])


def _rank_below(n: int, confidence: float) -> int:
    """Largest signed-rank sum that so few or fewer chances reach, from the low end.

    Exact for few pairs, by counting the subsets of 1 to n with each sum; else the normal
    approximation.
    """
    tail = (1 - confidence) / 2
    if n > EXACT_PAIRS:
        spread = math.sqrt(n * (n + 1) * (2 * n + 1) / 24)
        return max(math.floor(n * (n + 1) / 4 - normal_quantile(confidence) * spread), 0)
    chances = np.ones(1)
    for rank in range(1, n + 1):
        chances = (np.pad(chances, (0, rank)) + np.pad(chances, (rank, 0))) / 2
    return max(int(np.searchsorted(np.cumsum(chances), tail, side="right")) - 1, 0)


def separate_ratio(
    new: Sequence[float], old: Sequence[float], confidence: float = CONFIDENCE, seed: int = 0
) -> Ratio:
    """Ratio of medians of samples taken apart, with a moving-block bootstrap interval.

    Blocks keep the likeness of neighbouring samples (Kunsch 1989). The interval holds what varied
    within either run; what differs between one process and the next is not in it.
    """
    generator = np.random.default_rng(seed)
    above = _resampled_medians(np.asarray(new, np.float64), generator)
    below = _resampled_medians(np.asarray(old, np.float64), generator)
    tail = (1 - confidence) / 2
    low, high = np.quantile(above / below, (tail, 1 - tail))
    estimate = float(np.median(new)) / float(np.median(old))
    return Ratio(estimate, min(float(low), estimate), max(float(high), estimate), confidence)


def _resampled_medians(samples: Floats, generator: np.random.Generator) -> Floats:
    n = len(samples)
    block = max(1, round(n ** (1 / 3)))
    starts = generator.integers(0, n - block + 1, size=(RESAMPLES, -(-n // block)))
    rows = (starts[:, :, None] + np.arange(block)).reshape(RESAMPLES, -1)[:, :n]
    return np.median(samples[rows], axis=1)


def judge(
    ratio: Ratio, old_ns: float, practical: float = PRACTICAL, floor_ns: float = ABSOLUTE_FLOOR_NS
) -> Effect:
    """What a ratio says: a change must be both significant and large enough to matter.

    Args:
        ratio: New over old.
        old_ns: Time the ratio is of, ns, for the absolute floor.
        practical: Least relative change that matters.
        floor_ns: Least change in ns that matters.
    """
    size = abs(ratio.estimate - 1)
    matters = size >= practical and size * old_ns >= floor_ns
    if ratio.low > 1 and matters:
        return "slower"
    if ratio.high < 1 and matters:
        return "faster"
    reach = max(ratio.high - 1, 1 - ratio.low)
    is_within = reach < practical or reach * old_ns < floor_ns
    return "same" if is_within else "too-noisy"


def normal_quantile(confidence: float) -> float:
    """Two-sided quantile of the normal distribution: 1.96 for 0.95."""
    from statistics import NormalDist  # noqa: PLC0415 -- the standard library's, of our own name

    return NormalDist().inv_cdf(0.5 + confidence / 2)
