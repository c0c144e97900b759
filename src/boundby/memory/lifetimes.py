"""The history of one device as allocations with a birth and a death."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from boundby.read.recording import NONE, Ints, Ints32, Kinds
from boundby.read.snapshot_types import Action, BlockState, Events, Snapshot

BEFORE = -1
"""Birth of what was there before the history begins."""

GRAIN = 512
"""Blocks are a multiple of this (kMinBlockSize of the CUDA caching allocator)."""

SMALL = 1 << 20
"""Largest request that the pool of small blocks serves (kSmallSize)."""

Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Spans:
    """Ranges of device memory, each from a birth to a death; ordered by birth, then address.

    Attributes:
        birth: int64 event that made it, BEFORE where it was there already.
        death: int64 event that ended it; the number of events where it lives on.
        address, size: int64 bytes. Of an allocation the size is rounded up to the grain: the part
            of a larger block that could not be split off is not seen.
        stream: int64; NONE where unknown.
        stack: int32 index into ``Snapshot.stacks``; NONE without one.
        is_small: int8, 1 for the pool of small requests.
        pool: int32, 0 for the default pool; private pools are known from the end state only.
        is_expandable: int8, 1 for pages of an expandable segment.
    """

    birth: Ints
    death: Ints
    address: Ints
    size: Ints
    stream: Ints
    stack: Ints32
    is_small: Kinds
    pool: Ints32
    is_expandable: Kinds

    def __len__(self) -> int:
        return len(self.birth)

    @property
    def end(self) -> Ints:
        """int64, the first address behind it."""
        return self.address + self.size

    def alive(self, moment: int) -> Mask:
        """Which exist after the event at ``moment``."""
        return (self.birth <= moment) & (self.death > moment)

    def take(self, rows: Mask | Ints) -> Spans:
        """The chosen rows."""
        return Spans(**{name: column[rows] for name, column in vars(self).items()})

    def curve(self, events: int) -> Ints:
        """int64 bytes alive after each event, from the state before the first (``events`` + 1)."""
        return curve(self.birth, self.death, self.size, events)


def curve(birth: Ints, death: Ints, size: Ints, events: int) -> Ints:
    """int64 bytes alive before the first event and after each of ``events``."""
    change = np.zeros(events + 2, dtype=np.int64)
    np.add.at(change, birth + 1, size)
    np.add.at(change, np.minimum(death, events) + 1, -size)
    return np.cumsum(change[: events + 1])


@dataclass(frozen=True)
class Lifetimes:
    """All allocations of one device.

    Attributes:
        contradictions: Frees and allocations that the rest of the history contradicts.
    """

    spans: Spans
    contradictions: int


def allocations(snapshot: Snapshot, device: int, events: Events) -> Lifetimes:
    """Join each allocation with its free, and both ends of the history with what lay there."""
    made, contradictions = _paired(events)
    lasting = _at_the_end(snapshot, device, len(events))
    is_open = made.death >= len(events)
    known = np.isin(lasting.address, made.address[is_open])
    made = _with_end_state(made, is_open, lasting)
    spans = join(made, lasting.take(~known))
    return Lifetimes(_in_pools(spans, snapshot, device), contradictions)


def join(first: Spans, second: Spans) -> Spans:
    """Both, ordered by birth and address."""
    columns = {
        name: np.concatenate([column, getattr(second, name)])
        for name, column in vars(first).items()
    }
    order = np.lexsort((columns["address"], columns["birth"]))
    return Spans(**{name: column[order] for name, column in columns.items()})


def rounded(size: Ints) -> Ints:
    """Bytes of a block that serves a request; an empty one takes a grain too."""
    return np.maximum((size + GRAIN - 1) // GRAIN, 1) * GRAIN


def _paired(events: Events) -> tuple[Spans, int]:
    """Allocations by neighbours: at one address, an allocation and the event after it."""
    has_completed = bool((events.action == Action.FREE_COMPLETED).any())
    freed = Action.FREE_COMPLETED if has_completed else Action.FREE_REQUESTED
    rows = np.flatnonzero((events.action == Action.ALLOC) | (events.action == freed))
    rows = rows[np.argsort(events.address[rows], kind="stable")]
    address, is_alloc = events.address[rows], events.action[rows] == Action.ALLOC
    same = address[1:] == address[:-1]
    follows = np.append(same, False)
    preceded = np.append(False, same)
    after = np.append(rows[1:], len(events))
    orphan = ~is_alloc & ~(preceded & np.append(False, is_alloc[:-1]))
    repeated = orphan & preceded
    orphan &= ~preceded
    birth = np.where(is_alloc, rows, BEFORE)
    death = np.where(is_alloc, np.where(follows, after, len(events)), rows)
    kept = is_alloc | orphan
    spans = _spans(events, rows[kept], birth[kept], death[kept])
    twice = is_alloc & follows & np.append(is_alloc[1:], False)
    return spans, int(repeated.sum() + twice.sum())


def _spans(events: Events, rows: Ints, birth: Ints, death: Ints) -> Spans:
    size = np.maximum(events.size[rows], 0)
    return Spans(
        birth=birth.astype(np.int64),
        death=death.astype(np.int64),
        address=events.address[rows],
        size=rounded(size),
        stream=events.stream[rows],
        stack=np.where(birth == BEFORE, NONE, events.stack[rows]).astype(np.int32),
        is_small=(size <= SMALL).astype(np.int8),
        pool=np.zeros(len(rows), dtype=np.int32),
        is_expandable=np.zeros(len(rows), dtype=np.int8),
    )


def _at_the_end(snapshot: Snapshot, device: int, events: int) -> Spans:
    """The blocks in use when the snapshot was taken, as if they had always been there."""
    blocks, segments = snapshot.blocks, snapshot.segments
    if not len(segments):
        return _nothing()
    rows = (segments.device[blocks.segment] == device) & (blocks.state != BlockState.INACTIVE)
    owner = blocks.segment[rows]
    count = int(rows.sum())
    return Spans(
        birth=np.full(count, BEFORE, dtype=np.int64),
        death=np.full(count, events, dtype=np.int64),
        address=blocks.address[rows],
        size=np.maximum(blocks.size[rows], 0),
        stream=segments.stream[owner],
        stack=blocks.stack[rows],
        is_small=segments.is_small[owner],
        pool=segments.pool[owner],
        is_expandable=segments.is_expandable[owner],
    )


def _nothing() -> Spans:
    wide = np.zeros(0, dtype=np.int64)
    narrow, flag = np.zeros(0, dtype=np.int32), np.zeros(0, dtype=np.int8)
    return Spans(wide, wide, wide, wide, wide, narrow, flag, narrow, flag)


def _with_end_state(made: Spans, is_open: Mask, lasting: Spans) -> Spans:
    """Allocations that live on take the size of the block that really serves them."""
    if not len(lasting) or not is_open.any():
        return made
    order = np.argsort(lasting.address)
    sorted_addresses = lasting.address[order]
    at = np.minimum(np.searchsorted(sorted_addresses, made.address), len(order) - 1)
    found = is_open & (sorted_addresses[at] == made.address)
    return replace(made, size=np.where(found, lasting.size[order][at], made.size))


def _in_pools(spans: Spans, snapshot: Snapshot, device: int) -> Spans:
    """The private pool of each allocation, told by the segment that lies there at the end."""
    segments = snapshot.segments
    rows = np.flatnonzero((segments.device == device) & (segments.pool > 0))
    if not len(rows):
        return spans
    rows = rows[np.argsort(segments.address[rows])]
    at = np.searchsorted(segments.address[rows], spans.address, side="right") - 1
    inside = (at >= 0) & (spans.address < (segments.address + segments.size)[rows][at])
    return replace(spans, pool=np.where(inside, segments.pool[rows][at], 0).astype(np.int32))
