"""Memory reserved from the driver over time: segments, and pages of expandable segments."""

from __future__ import annotations

from bisect import bisect_left, insort

import numpy as np

from boundby.memory.lifetimes import BEFORE, Spans
from boundby.read.recording import NONE
from boundby.read.snapshot_types import Action, Events, Snapshot

SMALL_SEGMENT = 2 << 20
"""Segments of the small pool have this size, those of the large pool are larger (kSmallBuffer)."""

GROWING = (Action.SEGMENT_ALLOC, Action.SEGMENT_MAP)
SHRINKING = (Action.SEGMENT_FREE, Action.SEGMENT_UNMAP)

Row = tuple[int, int, int, int, int]
"""birth, death, address, size, and the event whose stream and kind it has."""


def reservations(snapshot: Snapshot, device: int, events: Events) -> Spans:
    """Every reserved range of one device with its birth and death."""
    ended, alive = _replayed(events)
    count = len(events)
    rows = ended + [(birth, count, at, size, birth) for at, size, birth in alive]
    early = [(BEFORE, count, at, size, NONE) for at, size in _uncovered(snapshot, device, alive)]
    return _described(rows + early, snapshot, device, events)


def _replayed(events: Events) -> tuple[list[Row], list[tuple[int, int, int]]]:
    """Ranges that ended, and those alive at the end as (address, size, birth), by address."""
    ended: list[Row] = []
    alive: list[tuple[int, int, int]] = []
    at = np.flatnonzero(np.isin(events.action, (*GROWING, *SHRINKING)))
    columns = (events.action, events.address, events.size)
    for moment, action, address, size in zip(
        at.tolist(), *(c[at].tolist() for c in columns), strict=True
    ):
        if size <= 0:
            continue
        if action in GROWING:
            insort(alive, (address, size, moment))
        else:
            _cut(alive, ended, address, address + size, moment)
    return ended, alive


def _cut(
    alive: list[tuple[int, int, int]], ended: list[Row], low: int, high: int, moment: int
) -> None:
    """End what lies between ``low`` and ``high``; what was there unknown is from before."""
    first = max(bisect_left(alive, (low, 0, 0)) - 1, 0)
    last, reached = first, low
    kept: list[tuple[int, int, int]] = []
    while last < len(alive) and alive[last][0] < high:
        start, size, birth = alive[last]
        end = start + size
        last += 1
        if end <= low:
            kept.append((start, size, birth))
            continue
        inner = max(start, low), min(end, high)
        if inner[0] > reached:
            ended.append((BEFORE, moment, reached, inner[0] - reached, moment))
        ended.append((birth, moment, inner[0], inner[1] - inner[0], birth))
        reached = inner[1]
        kept += [(a, b - a, birth) for a, b in ((start, low), (high, end)) if b > a]
    if reached < high:
        ended.append((BEFORE, moment, reached, high - reached, moment))
    alive[first:last] = kept


def _uncovered(
    snapshot: Snapshot, device: int, alive: list[tuple[int, int, int]]
) -> list[tuple[int, int]]:
    """Parts of the segments at the end that the history never saw being reserved."""
    segments = snapshot.segments
    rows = segments.device == device
    left = []
    for start, size in zip(
        segments.address[rows].tolist(), segments.size[rows].tolist(), strict=True
    ):
        end, reached = start + size, start
        position = max(bisect_left(alive, (start, 0, 0)) - 1, 0)
        while position < len(alive) and alive[position][0] < end:
            low, length, _ = alive[position]
            if low > reached:
                left.append((reached, low - reached))
            reached = max(reached, low + length)
            position += 1
        if reached < end:
            left.append((reached, end - reached))
    return left


def _described(rows: list[Row], snapshot: Snapshot, device: int, events: Events) -> Spans:
    rows.sort(key=lambda row: (row[0], row[2]))
    birth, death, address, size, source = (
        np.array(rows, dtype=np.int64).reshape(-1, 5).T
        if rows
        else np.zeros((5, 0), dtype=np.int64)
    )
    by_event = source >= 0
    event = np.where(by_event, source, 0)
    has_events = len(events) > 0
    stream = np.where(by_event, events.stream[event], 0) if has_events else np.zeros_like(birth)
    stack = (
        np.where(by_event, events.stack[event], NONE) if has_events else np.full_like(birth, NONE)
    )
    action = events.action[event] if has_events else np.zeros_like(birth)
    asked = np.where(by_event, events.size[event], size) if has_events else size
    is_small = asked <= SMALL_SEGMENT
    is_paged = by_event & np.isin(action, (Action.SEGMENT_MAP, Action.SEGMENT_UNMAP))
    pool = np.zeros_like(birth)
    owner = _segment_at(snapshot, device, address)
    known, at, segments = owner >= 0, np.maximum(owner, 0), snapshot.segments
    if known.any():
        stream = np.where(known, segments.stream[at], stream)
        is_small = np.where(known, segments.is_small[at] > 0, is_small)
        is_paged = np.where(known, segments.is_expandable[at] > 0, is_paged)
        pool = np.where(known, segments.pool[at], pool)
    return Spans(
        birth,
        death,
        address,
        size,
        stream,
        stack.astype(np.int32),
        is_small.astype(np.int8),
        pool.astype(np.int32),
        is_paged.astype(np.int8),
    )


def _segment_at(snapshot: Snapshot, device: int, address: np.ndarray) -> np.ndarray:
    """Row of the segment that holds each address at the end; NONE where there is none."""
    segments = snapshot.segments
    rows = np.flatnonzero(segments.device == device)
    if not len(rows):
        return np.full(len(address), NONE, dtype=np.int64)
    rows = rows[np.argsort(segments.address[rows])]
    at = np.searchsorted(segments.address[rows], address, side="right") - 1
    inside = (at >= 0) & (address < (segments.address + segments.size)[rows][at])
    return np.where(inside, rows[at], NONE)
