"""Plain values of a snapshot made typed columns: a walk of fixed depth, each list once.

Never recursive, never deeper than the format: a graph that unfolds to more entries than the file
has bytes is refused, whatever it is made of.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain
from operator import itemgetter
from typing import Any

import numpy as np

from boundby.read.columns import Interner
from boundby.read.recording import NONE
from boundby.read.snapshot_load import RefusedError
from boundby.read.snapshot_types import Action, BlockState
from boundby.read.snapshot_wire import Columns, Wire

Object = dict[str, Any]

ACTIONS = {
    "alloc": Action.ALLOC,
    "free": Action.FREE_COMPLETED,
    "free_requested": Action.FREE_REQUESTED,
    "free_completed": Action.FREE_COMPLETED,
    "segment_alloc": Action.SEGMENT_ALLOC,
    "segment_free": Action.SEGMENT_FREE,
    "segment_map": Action.SEGMENT_MAP,
    "segment_unmap": Action.SEGMENT_UNMAP,
    "snapshot": Action.SNAPSHOT,
    "oom": Action.OOM,
}
STATES = {
    "inactive": BlockState.INACTIVE,
    "active_allocated": BlockState.ACTIVE,
    "active_pending_free": BlockState.PENDING_FREE,
    "active_awaiting_free": BlockState.PENDING_FREE,
}
KNOWN = frozenset({"segments", "device_traces", "allocator_settings", "external_annotations"})
EVENT_KEYS = ("action", "addr", "size", "stream", "time_us", "frames")
SMALL_SEGMENT = 2 << 20
"""Size of a segment of the small pool, by which files without ``segment_type`` are told."""

NS_PER_US = 1000
LONGEST_TEXT = 2000
MOST_DEVICES = 1024
_NO_INTEGER = frozenset({bool})
_LIMIT = 1 << 63


class Walk:
    """The state of one conversion: interned texts and stacks, a budget, and what was left out.

    Args:
        budget: Entries that may be visited; the bytes of the pickle, since each takes one.
    """

    def __init__(self, budget: int) -> None:
        self.budget = budget
        self.names = Interner()
        self.frames = Interner()
        self.stacks = Interner()
        self.counts: dict[str, int] = {}
        self._stack_of: dict[int, int] = {}
        self._frame_of: dict[int, int] = {}

    def entries(self, value: object) -> list[Object]:
        """The dicts in a list; anything else there is counted and left out."""
        if not isinstance(value, (list, tuple)):
            if value is not None:
                self.note("no-list", 1)
            return []
        self.budget -= len(value)
        if self.budget < 0:
            raise RefusedError("it unfolds to more entries than it has bytes")
        kept = [each for each in value if type(each) is dict]
        self.note("no-entry", len(value) - len(kept))
        return kept

    def note(self, what: str, count: int) -> None:
        """Count something that was left out or mended."""
        if count:
            self.counts[what] = self.counts.get(what, 0) + count

    def numbered_stacks(self, lists: list[object]) -> list[int]:
        """The number of each stack."""
        distinct = dict(zip(map(id, lists), lists, strict=True))
        number = {key: self.stack(frames) for key, frames in distinct.items()}
        return list(map(number.__getitem__, map(id, lists)))

    def numbered_texts(self, values: list[object]) -> list[int]:
        """The number of each text; NONE for an empty one and for what is none."""
        kept = [value if type(value) is str else "" for value in values]
        number = {each: self.names[text(each)] if each else NONE for each in dict.fromkeys(kept)}
        return list(map(number.__getitem__, kept))

    def stack(self, frames: object) -> int:
        """The number of a stack; each list is walked once however often it is referred to."""
        if not isinstance(frames, (list, tuple)) or not frames:
            return NONE
        known = self._stack_of.get(id(frames))
        if known is None:
            self.budget -= len(frames)
            if self.budget < 0:
                raise RefusedError("it unfolds to more frames than it has bytes")
            known = self.stacks[tuple(self._frame(frame) for frame in frames)]
            self._stack_of[id(frames)] = known
        return known

    def _frame(self, frame: object) -> int:
        known = self._frame_of.get(id(frame))
        if known is None:
            fields = frame if type(frame) is dict else {}
            known = self.frames[
                text(fields.get("filename")),
                integer(fields.get("line"), 0),
                text(fields.get("name")),
            ]
            self._frame_of[id(frame)] = known
        return known


def convert(value: object, raw_bytes: int) -> Wire:
    """The columns of a snapshot.

    Raises:
        RefusedError: It is no snapshot, or unfolds to more than its size warrants.
    """
    is_bare = isinstance(value, list) and any(map(_is_segment, value))
    top = {"segments": value} if is_bare else value  # up to torch 1.x
    if not isinstance(top, dict) or not KNOWN & {key for key in top if isinstance(key, str)}:
        raise RefusedError("it holds neither segments nor a history of the allocator")
    walk = Walk(max(raw_bytes, 1))
    segments, blocks = _segments(top.get("segments"), walk)
    histories = _histories(top.get("device_traces"), walk)
    marks = _marks(top.get("external_annotations"), walk)
    stacks = walk.stacks.values_in_order
    flat = [frame for stack in stacks for frame in stack]
    ends = np.cumsum([len(stack) for stack in stacks], dtype=np.int64)
    return Wire(
        raw_bytes=raw_bytes,
        histories=histories,
        segments=segments,
        blocks=blocks,
        marks=marks,
        frames=walk.frames.values_in_order,
        stacks=np.array(flat, dtype="<i4").tobytes(),
        stack_ends=ends.astype("<i8").tobytes(),
        names=walk.names.values_in_order,
        settings=_settings(top.get("allocator_settings")),
        counts=walk.counts,
        unknown=sorted(text(key)[:80] for key in top if isinstance(key, str) and key not in KNOWN),
    )


def _is_segment(value: object) -> bool:
    return type(value) is dict and "blocks" in value


def text(value: object) -> str:
    """A text that can be encoded, of bounded length; empty for anything that is no text."""
    if type(value) is not str:
        return ""
    return value[:LONGEST_TEXT].encode("utf-8", "replace").decode("utf-8")


def integer(value: object, otherwise: int = NONE) -> int:
    """An integer that a column can hold; NaN and infinities compare false and are none."""
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return int(value) if is_number and -_LIMIT < value < _LIMIT else otherwise  # type: ignore[operator, call-overload]


def _ints(values: list[object]) -> bytes:
    """int64 of values that should be integers; types are looked at first, nothing is walked."""
    kinds = set(map(type, values))
    if kinds <= {int}:
        try:
            return np.array(values, dtype="<i8").tobytes()
        except OverflowError:
            pass
    return np.array([integer(value) for value in values], dtype="<i8").tobytes()


def _column(entries: list[Object], key: str) -> bytes:
    return _ints([entry.get(key, NONE) for entry in entries])


def _small(values: Iterable[int], kind: str) -> bytes:
    return np.array(list(values), dtype=kind).tobytes()


def _histories(value: object, walk: Walk) -> dict[int, Columns]:
    if not isinstance(value, (list, tuple)):
        return {}
    walk.note("no-list", max(len(value) - MOST_DEVICES, 0))
    return {
        device: _history(walk.entries(trace), walk)
        for device, trace in enumerate(value[:MOST_DEVICES])
    }


def _sized(entries: list[Object], walk: Walk) -> list[Object]:
    """Those that say how many bytes they are about; others are counted and left out."""
    sizes: list[Any] = [entry.get("size") for entry in entries]
    if set(map(type, sizes)) <= {int} and min(sizes, default=0) >= 0:
        return entries
    kept = [e for e in entries if integer(e.get("size")) >= 0 or _moves_nothing(e)]
    walk.note("no-size", len(entries) - len(kept))
    return kept


def _moves_nothing(entry: Object) -> bool:
    """Whether an entry of a history is about no memory: a snapshot, or of an unknown kind."""
    action = entry.get("action")
    return type(action) is str and ACTIONS.get(action, Action.SNAPSHOT) == Action.SNAPSHOT


def _history(entries: list[Object], walk: Walk) -> Columns:
    entries = _sized(entries, walk)
    actions, addresses, sizes, streams, times_us, frames = _fields(entries, EVENT_KEYS)
    named = _actions(actions)
    walk.note("unknown-action", named.count(Action.OTHER))
    times = np.frombuffer(_ints(times_us), dtype="<i8")
    is_known = (times >= 0) & (times < _LIMIT // NS_PER_US)
    return {
        "action": _small(named, "i1"),
        "address": _ints(addresses),
        "size": _ints(sizes),
        "stream": _ints(streams),
        "time": np.where(is_known, times * is_known * NS_PER_US, NONE).astype("<i8").tobytes(),
        "stack": _small(walk.numbered_stacks(frames), "<i4"),
        "free": _column(entries, "device_free"),
        "note": _small(walk.numbered_texts([e.get("user_metadata") for e in entries]), "<i4"),
    }


def _fields(entries: list[Object], keys: tuple[str, ...]) -> list[list[object]]:
    """A list a key; None where an entry lacks it. One walk over the entries where none does."""
    try:
        flat: list[object] = list(chain.from_iterable(map(itemgetter(*keys), entries)))
    except KeyError:
        return [[entry.get(key) for entry in entries] for key in keys]
    return [flat[at :: len(keys)] for at in range(len(keys))]


def _actions(values: list[object]) -> list[int]:
    kept = [value if type(value) is str else "" for value in values]
    number = {each: int(ACTIONS.get(each, Action.OTHER)) for each in set(kept)}
    return list(map(number.__getitem__, kept))


def _segments(value: object, walk: Walk) -> tuple[Columns, Columns]:
    entries = walk.entries(value)
    pools = Interner()
    _ = pools[0, 0]
    blocks = _blocks(entries, walk)
    sizes = _total_sizes(entries, blocks, walk)
    segments: Columns = {
        "device": _small((_device(entry.get("device")) for entry in entries), "<i4"),
        "address": _column(entries, "address"),
        "size": _ints(list(sizes)),
        "stream": _column(entries, "stream"),
        "is_small": _small(map(_is_small, entries, sizes), "i1"),
        "pool": _small((pools[_pool(entry.get("segment_pool_id"))] for entry in entries), "<i4"),
        "is_expandable": _small((entry.get("is_expandable") is True for entry in entries), "i1"),
    }
    return segments, blocks


def _total_sizes(segments: list[Object], blocks: Columns, walk: Walk) -> list[int]:
    """Bytes of each segment; where it does not say, counted, those of its blocks."""
    owner = np.frombuffer(blocks["segment"], dtype="<i4")
    held = np.zeros(len(segments), dtype=np.int64)
    np.add.at(held, owner, np.frombuffer(blocks["size"], dtype="<i8"))
    stated = [integer(each.get("total_size")) for each in segments]
    walk.note("no-size", sum(size < 0 for size in stated))
    return [
        max(own, 0) if size < 0 else size for size, own in zip(stated, held.tolist(), strict=True)
    ]


def _is_small(entry: Object, size: int) -> bool:
    kind = entry.get("segment_type")
    return kind == "small" if type(kind) is str else 0 <= size <= SMALL_SEGMENT


def _device(value: object) -> int:
    number = integer(value, 0)
    return number if 0 <= number < MOST_DEVICES else 0


def _pool(value: object) -> tuple[int, int]:
    """The id of a pool, a pair in most versions; one number in some."""
    if isinstance(value, (tuple, list)) and len(value) == 2:  # noqa: PLR2004 -- a pair
        return integer(value[0], 0), integer(value[1], 0)
    return integer(value, 0), 0


def _blocks(segments: list[Object], walk: Walk) -> Columns:
    owner: list[int] = []
    rows: list[Object] = []
    addresses: list[object] = []
    for number, segment in enumerate(segments):
        at = integer(segment.get("address"))
        for block in _sized(walk.entries(segment.get("blocks")), walk):
            own = block.get("address")
            addresses.append(at if own is None else own)
            at = integer(addresses[-1]) + integer(block.get("size"))
            owner.append(number)
            rows.append(block)
    states = [
        STATES.get(s, BlockState.INACTIVE) if type(s) is str else BlockState.INACTIVE
        for s in (row.get("state") for row in rows)
    ]
    return {
        "segment": _small(owner, "<i4"),
        "address": _ints(addresses),
        "size": _column(rows, "size"),
        "requested": _ints([_requested(row) for row in rows]),
        "state": _small(states, "i1"),
        "stack": _small(
            [walk.stack(row.get("frames", _past(row).get("frames"))) for row in rows], "<i4"
        ),
    }


def _past(block: Object) -> Object:
    """The last entry of the ``history`` that blocks had up to torch 2.0."""
    history = block.get("history")
    last = history[0] if isinstance(history, list) and history else None
    return last if type(last) is dict else {}


def _requested(block: Object) -> int:
    return max(integer(block.get("requested_size", _past(block).get("real_size"))), NONE)


def _marks(value: object, walk: Walk) -> Columns:
    entries = walk.entries(value)
    stages = [entry.get("stage") for entry in entries]
    times = np.frombuffer(_column(entries, "time_us"), dtype="<i8")
    is_known = (times >= 0) & (times < _LIMIT // NS_PER_US)
    return {
        "name": _small([walk.names[text(entry.get("name"))] for entry in entries], "<i4"),
        "is_start": _small(
            [stage == "START" if type(stage) is str else 0 for stage in stages], "i1"
        ),
        "device": _small([_device(entry.get("device")) for entry in entries], "<i4"),
        "time": np.where(is_known, times * is_known * NS_PER_US, NONE).astype("<i8").tobytes(),
    }


def _settings(value: object) -> dict[str, str | int | float | bool | None]:
    fields = value if type(value) is dict else {}
    conf = fields.get("PYTORCH_CUDA_ALLOC_CONF", fields.get("PYTORCH_ALLOC_CONF"))
    expandable = fields.get("expandable_segments")
    threshold = fields.get("garbage_collection_threshold")
    split = fields.get("max_split_size")
    return {
        "conf": text(conf),
        "expandable": expandable if isinstance(expandable, bool) else None,
        "max_split_bytes": None if split is None else integer(split),
        "gc_threshold": threshold if isinstance(threshold, float) else None,
    }
