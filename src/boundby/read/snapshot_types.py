"""What a reader of memory snapshots produces: typed columns of events, blocks and segments.

Sizes are bytes, times int64 nanoseconds of the recorder's clock, ``NONE`` (-1) is unknown. An
address of the device is an int64; nothing ever reads memory there.
"""

from __future__ import annotations

from dataclasses import field
from enum import IntEnum
from typing import NamedTuple

from boundby.frozen import frozen
from boundby.read.recording import Ints, Ints32, Kinds, Quality, Source


class Action(IntEnum):
    """What an entry of the history says."""

    ALLOC = 0
    FREE_REQUESTED = 1
    """The program let go; the block stays until the device has passed its last use."""
    FREE_COMPLETED = 2
    SEGMENT_ALLOC = 3
    SEGMENT_FREE = 4
    SEGMENT_MAP = 5
    """Pages added to an expandable segment."""
    SEGMENT_UNMAP = 6
    SNAPSHOT = 7
    OOM = 8
    OTHER = 9


class BlockState(IntEnum):
    """State of a block when the snapshot was taken."""

    INACTIVE = 0
    ACTIVE = 1
    PENDING_FREE = 2
    """Freed by the program, still in use on another stream."""


class Frame(NamedTuple):
    """One frame of a stack: of a Python call the line that calls, of C++ mostly no line."""

    file: str
    line: int
    function: str


@frozen
class Events:
    """The history of one device, oldest first.

    Attributes:
        action: int8, an Action.
        address: int64; NONE for an out-of-memory entry.
        size: int64 bytes: as requested for ALLOC and frees, as reserved for segments, as refused
            for OOM.
        stream: int64 stream.
        time: int64 ns; NONE before torch 2.1.
        stack: int32 index into ``Snapshot.stacks``; NONE without a stack.
        free: int64 bytes free on the device, at OOM entries; NONE elsewhere.
        note: int32 index into ``Snapshot.names``, what the program noted; NONE where nothing.
    """

    action: Kinds
    address: Ints
    size: Ints
    stream: Ints
    time: Ints
    stack: Ints32
    free: Ints
    note: Ints32

    def __len__(self) -> int:
        return len(self.action)


@frozen
class Segments:
    """Memory reserved from the driver when the snapshot was taken, all devices.

    Attributes:
        device: int32.
        address, size: int64, bytes.
        stream: int64.
        is_small: int8, 1 for the pool of requests up to 1 MiB.
        pool: int32, 0 for the default pool, other numbers for private ones (CUDA graphs).
        is_expandable: int8.
    """

    device: Ints32
    address: Ints
    size: Ints
    stream: Ints
    is_small: Kinds
    pool: Ints32
    is_expandable: Kinds

    def __len__(self) -> int:
        return len(self.address)


@frozen
class Blocks:
    """Blocks of the segments when the snapshot was taken.

    Attributes:
        segment: int32 row in ``Segments``.
        address, size, requested: int64, bytes; ``requested`` is NONE where unknown.
        state: int8, a BlockState.
        stack: int32 index into ``Snapshot.stacks``; NONE without a stack.
    """

    segment: Ints32
    address: Ints
    size: Ints
    requested: Ints
    state: Kinds
    stack: Ints32

    def __len__(self) -> int:
        return len(self.address)


@frozen
class Marks:
    """Begin and end of named ranges (``record_function``) in the order in which they came.

    Attributes:
        name: int32 index into ``Snapshot.names``.
        is_start: int8.
        device: int32.
        time: int64 ns.
    """

    name: Ints32
    is_start: Kinds
    device: Ints32
    time: Ints

    def __len__(self) -> int:
        return len(self.name)


@frozen
class Settings:
    """Settings of the allocator, as far as the snapshot tells; None is unknown.

    Attributes:
        conf: The setting as the user wrote it.
        max_split_bytes: -1 where nothing limits the splitting of blocks.
    """

    conf: str = ""
    expandable: bool | None = None
    max_split_bytes: int | None = None
    gc_threshold: float | None = None

    @property
    def limits_splitting(self) -> bool:
        """Whether ``max_split_size_mb`` is set."""
        return self.max_split_bytes is not None and self.max_split_bytes >= 0


@frozen
class Snapshot:
    """The allocator of one process: its state now and its recent history.

    Attributes:
        histories: By device number.
        stacks: Tuples of indices into ``frames``, innermost frame first.
        names: Interned notes and names of ranges.
        unknown: Keys that no version known to boundby writes.
    """

    source: Source
    quality: tuple[Quality, ...]
    histories: dict[int, Events]
    segments: Segments
    blocks: Blocks
    frames: list[Frame]
    stacks: list[tuple[int, ...]]
    names: list[str]
    marks: Marks
    settings: Settings = field(default_factory=Settings)
    unknown: tuple[str, ...] = ()

    @property
    def devices(self) -> list[int]:
        """Devices with memory or history, ascending."""
        return sorted(
            {*map(int, self.segments.device), *(d for d, e in self.histories.items() if len(e))}
        )
