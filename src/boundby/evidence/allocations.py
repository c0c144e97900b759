"""Allocations through the driver inside steps: a caching allocator makes none."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Allocations:
    """Calls of the driver's allocator inside steps.

    Attributes:
        host_share: Share of recorded host time.
        calls: Calls a step.
        frees: Calls a step that give memory back.
    """

    host_share: float | None = None
    calls: float | None = None
    frees: float | None = None
