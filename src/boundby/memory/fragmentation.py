"""Free memory that serves no request: cut to pieces, or reserved again and again."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from boundby.distribution import distinct
from boundby.memory.history import History, PoolState, Refusal
from boundby.memory.lifetimes import SMALL, curve
from boundby.read.recording import Ints
from boundby.read.snapshot_types import Action

AVOIDABLE_SHARE = 0.25
"""Of the reserved bytes: less than this was reserved in spite of enough free memory, no verdict."""

EXCESS_SHARE = 0.3
"""Reserved at most over used at most: a cache a little larger than its use is how it works."""

LEAST_REQUESTS = 4
LEAST_EXCESS = 64 << 20


@dataclass(frozen=True)
class Fragmentation:
    """How far free memory was of use.

    Attributes:
        state: The pools at ``moment``.
        moment: The refusal, else the moment of most reserved memory.
        at: ``oom`` or ``peak``.
        request: Bytes refused; None without a refusal.
        segment_requests, segment_bytes: Segments asked of the driver, and their bytes.
        avoidable_requests, avoidable_bytes: Those of them for which the pool held enough, in
            pieces.
        reserved_peak, live_peak: The most bytes reserved and in use, each at its own moment.
        fits_in_total: Whether the refused request was smaller than all free bytes of its pool.
        fits_in_largest: Whether one block could have held it.
    """

    state: PoolState
    moment: int
    at: str
    request: int | None
    segment_requests: int
    segment_bytes: int
    avoidable_requests: int
    avoidable_bytes: int
    reserved_peak: int
    live_peak: int
    fits_in_total: bool | None
    fits_in_largest: bool | None

    @property
    def refused_by_pieces(self) -> bool:
        """Whether a request failed that the pool could hold in sum and no block could."""
        return bool(self.fits_in_total) and not self.fits_in_largest

    @property
    def wastes_segments(self) -> bool:
        """Whether segments keep being requested while the pool holds enough in pieces."""
        excess = self.reserved_peak - self.live_peak
        return (
            self.avoidable_requests >= LEAST_REQUESTS
            and self.avoidable_bytes >= AVOIDABLE_SHARE * self.reserved_peak
            and excess >= max(EXCESS_SHARE * self.live_peak, LEAST_EXCESS)
        )


def find_fragmentation(history: History, refusal: Refusal | None) -> Fragmentation:
    """The pool that was asked at the refusal, or all pools when most was reserved."""
    if refusal is not None:
        moment, pool = refusal.moment, history.pool_of(refusal.size, refusal.stream)
        state = history.pool_state(moment, pool)
        request = refusal.size
    else:
        moment, request = int(np.argmax(history.reserved_curve)) - 1, None
        state = history.pool_state(moment)
    requests, is_avoidable = _segment_requests(history)
    return Fragmentation(
        state=state,
        moment=moment,
        at="oom" if refusal else "peak",
        request=request,
        segment_requests=len(requests),
        segment_bytes=int(requests.sum()),
        avoidable_requests=int(is_avoidable.sum()),
        avoidable_bytes=int(requests[is_avoidable].sum()),
        reserved_peak=int(history.reserved_curve.max()),
        live_peak=int(history.live_curve.max()),
        fits_in_total=None if request is None else request <= state.free,
        fits_in_largest=None if request is None else request <= state.largest,
    )


def _segment_requests(history: History) -> tuple[Ints, np.ndarray]:
    """Bytes of each segment asked for, and whether its pool held as much already."""
    events = history.events
    rows = np.flatnonzero(events.action == Action.SEGMENT_ALLOC)
    sizes = events.size[rows]
    is_avoidable = np.zeros(len(rows), dtype=bool)
    is_small = sizes <= 2 * SMALL
    for stream in distinct(events.stream[rows]).tolist():
        for small in (False, True):
            chosen = (events.stream[rows] == stream) & (is_small == small)
            if chosen.any():
                free = _free_curve(history, stream, is_small=small)
                is_avoidable[chosen] = free[rows[chosen]] >= sizes[chosen]
    return sizes, is_avoidable


def _free_curve(history: History, stream: int, *, is_small: bool) -> Ints:
    """int64 free bytes of one default pool before each event."""
    curves = []
    for spans in (history.reserved, history.spans):
        rows = (spans.stream == stream) & ((spans.is_small > 0) == is_small) & (spans.pool == 0)
        curves.append(
            curve(spans.birth[rows], spans.death[rows], spans.size[rows], len(history.events))
        )
    return curves[0] - curves[1]
