"""One device: allocations, reservations, curves, and the state at any moment."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from boundby.memory.lifetimes import GRAIN, SMALL, Mask, Spans, allocations, rounded
from boundby.memory.reservations import reservations
from boundby.read.recording import Ints
from boundby.read.snapshot_types import Action, Events, Snapshot


@dataclass(frozen=True)
class Refusal:
    """A request that could not be served.

    Attributes:
        moment: Event of the refusal.
        size: Bytes asked for.
        device_free: Bytes free on the device then; None where unknown.
        stream: Stream of the request.
    """

    moment: int
    size: int
    device_free: int | None
    stream: int


@dataclass(frozen=True)
class PoolState:
    """One pool of free blocks at a moment; bytes.

    Attributes:
        free: Free bytes inside its segments.
        largest: The largest free block.
        pinned: Free bytes of segments that hold a block in use, so that nothing can return them.
        live: Bytes in use.
        reserved: Bytes of its segments.
    """

    reserved: int
    live: int
    free: int
    largest: int
    pinned: int

    @property
    def index(self) -> float | None:
        """1 - largest free / free: 0 where one block holds it all, None where nothing is free."""
        return None if self.free <= 0 else 1 - self.largest / self.free


class History:
    """What the allocator of one device did.

    Attributes:
        events: The entries as recorded.
        spans: All allocations.
        reserved: All reserved ranges.
    """

    def __init__(self, snapshot: Snapshot, device: int) -> None:
        self.device = device
        self.events: Events = snapshot.histories.get(device) or _no_events()
        lifetimes = allocations(snapshot, device, self.events)
        self.contradictions = lifetimes.contradictions
        self.spans: Spans = lifetimes.spans
        self.reserved: Spans = reservations(snapshot, device, self.events)

    @cached_property
    def live_curve(self) -> Ints:
        """int64 bytes in use before the first event and after each."""
        return self.spans.curve(len(self.events))

    @cached_property
    def reserved_curve(self) -> Ints:
        """int64 bytes reserved before the first event and after each."""
        return self.reserved.curve(len(self.events))

    @cached_property
    def asked(self) -> Ints:
        """int64 bytes of each allocation as asked for, rounded up to the grain.

        Of what was there before the first event, the bytes of its block.
        """
        size, birth = self.spans.size.copy(), self.spans.birth
        is_made = birth >= 0
        size[is_made] = rounded(np.maximum(self.events.size[birth[is_made]], 0))
        return size

    @cached_property
    def peak_moment(self) -> int:
        """The event after which most bytes are in use; BEFORE where that is the very start."""
        return int(np.argmax(self.live_curve)) - 1

    @cached_property
    def refusals(self) -> list[Refusal]:
        """All requests that could not be served, in order."""
        events = self.events
        return [
            Refusal(
                int(row),
                int(events.size[row]),
                int(events.free[row]) if events.free[row] >= 0 else None,
                int(events.stream[row]),
            )
            for row in np.flatnonzero(events.action == Action.OOM)
        ]

    def live_at(self, moment: int) -> int:
        """Bytes in use after an event."""
        return int(self.live_curve[moment + 1])

    def reserved_at(self, moment: int) -> int:
        """Bytes reserved after an event."""
        return int(self.reserved_curve[moment + 1])

    def free_blocks(self, moment: int, where: Mask | None = None) -> tuple[Ints, Ints, Mask]:
        """Free blocks after an event: address, size, and whether their segment holds a live one.

        Args:
            where: Which reserved ranges to look at; all by default.
        """
        chosen = self.reserved.alive(moment)
        ranges = _merged(self.reserved.take(chosen if where is None else chosen & where))
        if not len(ranges[0]):
            return ranges[0], ranges[0], ranges[0].astype(bool)
        blocks = self.spans.take(self.spans.alive(moment))
        return _gaps(ranges, blocks)

    def pool_state(self, moment: int, where: Mask | None = None) -> PoolState:
        """Free and used bytes of the chosen reserved ranges after an event."""
        chosen = self.reserved.alive(moment)
        chosen = chosen if where is None else chosen & where
        reserved = int(self.reserved.size[chosen].sum())
        _, size, is_pinned = self.free_blocks(moment, where)
        free = int(size.sum())
        largest = int(size.max()) if len(size) else 0
        return PoolState(reserved, reserved - free, free, largest, int(size[is_pinned].sum()))

    def pool_of(self, size: int, stream: int) -> Mask:
        """The reserved ranges that may serve a request of the default pool."""
        kept = (self.reserved.is_small > 0) == (size <= SMALL)
        return kept & (self.reserved.stream == stream) & (self.reserved.pool == 0)


def _no_events() -> Events:
    wide = np.zeros(0, dtype=np.int64)
    narrow, flag = np.zeros(0, dtype=np.int32), np.zeros(0, dtype=np.int8)
    return Events(flag, wide, wide, wide, wide, narrow, wide, narrow)


def _merged(ranges: Spans) -> tuple[Ints, Ints, Mask]:
    """Start, end and kind of ranges by address; neighbouring pages of one segment are one."""
    order = np.argsort(ranges.address)
    start, end = ranges.address[order], ranges.end[order]
    is_paged = ranges.is_expandable[order] > 0
    kind = ranges.is_small[order]
    joins = is_paged[1:] & is_paged[:-1] & (start[1:] == end[:-1]) & (kind[1:] == kind[:-1])
    first = np.append(True, ~joins) if len(start) else np.zeros(0, dtype=bool)
    last = np.append(~joins, True) if len(start) else first
    return start[first], end[last], (is_paged | (kind > 0))[first]


def _gaps(ranges: tuple[Ints, Ints, Mask], blocks: Spans) -> tuple[Ints, Ints, Mask]:
    start, end, splits_finely = ranges
    at = np.searchsorted(start, blocks.address, side="right") - 1
    inside = (at >= 0) & (blocks.address < end[at])
    low, high = blocks.address[inside], np.minimum(blocks.end[inside], end[at[inside]])
    is_used = np.zeros(len(start), dtype=bool)
    is_used[at[inside]] = True
    opening = np.sort(np.concatenate([start, high]))
    closing = np.sort(np.concatenate([low, end]))
    size = closing - opening
    owner = np.searchsorted(start, opening, side="right") - 1
    is_whole = np.isin(opening, start)
    # A large block is not split where the rest would be 1 MiB or less: that rest serves nobody.
    least = np.where(splits_finely[owner] | is_whole, GRAIN, SMALL + 1)
    kept = size >= least
    return opening[kept], size[kept], is_used[owner[kept]]
