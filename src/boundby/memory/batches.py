"""How the bytes of a step grow with its batch, and how many samples fit into a device."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from typing import NamedTuple

GIB = 1 << 30
CARDS = ((24, "24 GiB"), (40, "40 GiB"), (80, "80 GiB"), (140, "H200"))


class Moment(NamedTuple):
    """Bytes at one moment of a step: whatever the batch, and of each sample."""

    fixed: int
    per_sample: float


def moment(once: int, twice: int, batch: int) -> Moment:
    """By the bytes at a batch and at twice of it."""
    per_sample = max(twice - once, 0) / batch
    return Moment(max(round(once - per_sample * batch), 0), per_sample)


def moments(once: Sequence[int], twice: Sequence[int], batch: int) -> list[Moment]:
    """All moments of a step, by two courses of it; none where the batch changes what it does."""
    if len(once) != len(twice):
        return []
    return [moment(*both, batch) for both in zip(once, twice, strict=True)]


def largest(
    known: Sequence[Moment], capacity: int | None, context: int
) -> tuple[tuple[str, int], ...]:
    """Largest batch for the device, or for common ones; none where no sample adds anything.

    Args:
        known: Of the step; the fullest counts, which may be another at a larger batch.
        context: Bytes of the device that are never the step's.
    """
    rooms = [(name, size * GIB) for size, name in CARDS]
    if capacity is not None:
        rooms = [(f"{capacity / GIB:.4g} GiB", capacity)]
    if all(each.per_sample <= 0 for each in known):
        return ()
    return tuple(
        (name, int(min(_fitting(room - context, each) for each in known))) for name, room in rooms
    )


def _fitting(room: int, at: Moment) -> float:
    """Samples that fit; no end to them where none adds anything."""
    if room < at.fixed:
        return 0
    return (room - at.fixed) / at.per_sample if at.per_sample else inf
