"""Normalisations written out as single operators."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Norms:
    """Normalisations by hand.

    Attributes:
        by_hand: How many a step.
        launches: Launches of one of them, from its mean to its scaling.
    """

    by_hand: float | None = None
    launches: float | None = None
