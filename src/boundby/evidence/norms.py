"""Normalisations written out as single operators."""

from __future__ import annotations

import re

import numpy as np

from boundby.evidence.launched import Launched
from boundby.evidence.phases import BACKWARD
from boundby.frozen import frozen

MEAN = re.compile(r"^aten::(mean|var|var_mean|std|sum|linalg_vector_norm|norm)$")
ROOT = re.compile(r"^aten::(rsqrt|sqrt)$")
NEAR = 4
"""Launches from the mean to the root: square, mean, add epsilon, root."""
BEFORE, AFTER = 1, 2
"""Launches of the norm outside these two: the square before, the products after."""


@frozen
class Norms:
    """Normalisations by hand.

    Attributes:
        by_hand: How many a step.
        device_share: Share of device time in them.
    """

    by_hand: float | None = None
    device_share: float | None = None


def find_norms(launched: Launched) -> Norms:
    """A mean followed within a few launches by a root, outside optimizer and backward."""
    device = float(launched.work.sum())
    if not device:
        return Norms()
    outside = ~launched.by_update & ~launched.under(BACKWARD)
    mean = np.flatnonzero(launched.by(MEAN) & outside)
    root = np.flatnonzero(launched.by(ROOT) & outside)
    inside, count = np.zeros(len(launched), dtype=np.bool_), 0
    for row in root.tolist() if len(mean) else ():
        at = int(np.searchsorted(mean, row)) - 1
        if at < 0 or launched.step[mean[at]] != launched.step[row]:
            continue
        if row - int(mean[at]) <= NEAR:
            count += 1
            inside[max(int(mean[at]) - BEFORE, 0) : row + AFTER + 1] = True
    return Norms(count / launched.steps, float(launched.work[inside].sum()) / device)
