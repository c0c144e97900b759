"""Data for two pictures: memory over time, and the segments at one moment. Drawn elsewhere."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from boundby.memory.composition import NUMBER, Part
from boundby.memory.history import History
from boundby.memory.lifetimes import BEFORE
from boundby.read.recording import Ints, Kinds

BINS = 120
SEGMENTS_SHOWN = 64


@dataclass(frozen=True)
class Timeline:
    """Most bytes in use and reserved in each part of the history, evenly by events.

    Attributes:
        start: Event at which each part begins.
        time: ns of that event; NONE where unknown.
        live, reserved: int64 bytes.
        peak, refusals: Parts that hold the peak and refusals.
        made_of: int64 bytes of each part of the memory when most was in use; they sum to ``live``.
    """

    start: Ints
    time: Ints
    live: Ints
    reserved: Ints
    peak: int
    refusals: tuple[int, ...]
    made_of: tuple[tuple[Part, Ints], ...] = ()


@dataclass(frozen=True)
class Row:
    """One segment: address, bytes, and ``(start, size)`` of each block in use, in bytes."""

    address: int
    size: int
    live: int
    is_small: bool
    pool: int
    blocks: tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class SegmentMap:
    """The largest segments after an event, by address; ``left_out`` more are not listed."""

    moment: int
    rows: tuple[Row, ...]
    left_out: int


def timeline(history: History, bins: int = BINS, parts: Kinds | None = None) -> Timeline:
    """The two curves, thinned to the maximum of each part so that no peak is lost.

    Args:
        parts: int8 number of the Part of every allocation.
    """
    count = len(history.events)
    stretches = min(bins, count) or 1
    start = np.arange(stretches, dtype=np.int64) * count // stretches
    live = np.maximum.reduceat(history.live_curve[1:], start) if count else history.live_curve[:1]
    kept = (
        np.maximum.reduceat(history.reserved_curve[1:], start)
        if count
        else history.reserved_curve[:1]
    )
    time = history.events.time[start] if count else np.full(1, -1, dtype=np.int64)
    parts_of = [
        max(int(np.searchsorted(start, r.moment, "right")) - 1, 0) for r in history.refusals
    ]
    peak = max(int(np.searchsorted(start, history.peak_moment, "right")) - 1, 0)
    made_of = () if parts is None else _made_of(history, parts, _fullest(history, start))
    return Timeline(start, time, live, kept, peak, tuple(parts_of), made_of)


def _fullest(history: History, start: Ints) -> Ints:
    """The event of each stretch after which most is in use; before any event without one."""
    count = len(history.events)
    if not count:
        return np.full(len(start), BEFORE, dtype=np.int64)
    live = history.live_curve[1:]
    bounds = [*start.tolist(), count]
    return np.array([low + int(np.argmax(live[low:high])) for low, high in pairwise(bounds)])


def _made_of(history: History, parts: Kinds, moments: Ints) -> tuple[tuple[Part, Ints], ...]:
    count = len(history.events)
    curves = (
        (part, history.spans.take(parts == number).curve(count)[moments + 1])
        for part, number in NUMBER.items()
    )
    return tuple((part, curve) for part, curve in curves if curve.any())


def segment_map(history: History, moment: int) -> SegmentMap:
    """The reserved ranges and what is in use inside them."""
    ranges = history.reserved.take(history.reserved.alive(moment))
    blocks = history.spans.take(history.spans.alive(moment))
    order = np.argsort(blocks.address)
    address, size = blocks.address[order], blocks.size[order]
    largest = np.sort(np.argsort(-ranges.size, kind="stable")[:SEGMENTS_SHOWN])
    largest = largest[np.argsort(ranges.address[largest])]
    rows = []
    for row in largest.tolist():
        low = int(ranges.address[row])
        high = low + int(ranges.size[row])
        first, last = np.searchsorted(address, (low, high))
        inside = tuple(
            (int(a) - low, min(int(s), high - int(a)))
            for a, s in zip(address[first:last].tolist(), size[first:last].tolist(), strict=True)
        )
        rows.append(
            Row(
                low,
                high - low,
                sum(s for _, s in inside),
                bool(ranges.is_small[row]),
                int(ranges.pool[row]),
                inside,
            )
        )
    return SegmentMap(moment, tuple(rows), max(len(ranges) - len(rows), 0))
