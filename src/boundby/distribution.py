"""Distinct values and percentiles of a column, without what numpy's own drag in.

``np.unique`` and ``np.percentile`` import ``numpy.ma``, as long as a fifth of all other imports.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

_T = TypeVar("_T", bound=np.generic)


def distinct(values: npt.NDArray[_T]) -> npt.NDArray[_T]:
    """Each value once, in rising order; ``values`` of any shape."""
    once: npt.NDArray[Any] = np.unique(values, return_counts=True)[0]
    return once


def percentiles(values: npt.NDArray[Any], shares: Sequence[float]) -> list[float]:
    """Percentiles of a column (at least one value), linear between two values as numpy's.

    Args:
        values: float or int [n].
        shares: Percent, 0 to 100.
    """
    ordered = np.sort(values)
    at = np.asarray(shares) / 100 * (len(ordered) - 1)
    below = np.floor(at).astype(np.int64)
    above = np.minimum(below + 1, len(ordered) - 1)
    low, high = ordered[below].astype(np.float64), ordered[above].astype(np.float64)
    return [float(each) for each in low + (high - low) * (at - below)]
