"""What every reader produces: a Recording, typed columns in integer nanoseconds.

Times are int64 nanoseconds after ``Recording.origin_ns``. A missing integer is ``NONE`` (-1).
Rows are ordered by start; ties put the longer event first, so parents precede children.
"""

from __future__ import annotations

from dataclasses import field
from enum import IntEnum
from typing import Literal

import numpy as np
import numpy.typing as npt

from boundby.frozen import frozen

Ints = npt.NDArray[np.int64]
Ints32 = npt.NDArray[np.int32]
Kinds = npt.NDArray[np.int8]

NONE = -1
"""The value of an integer field that the recording does not hold."""

Severity = Literal["info", "warning", "fatal"]


class HostKind(IntEnum):
    """What a host row is."""

    OP = 0
    """A framework operator (Kineto ``cpu_op``)."""
    CALL = 1
    """A runtime or driver call (``cudaLaunchKernel``, ``hipMemcpyAsync``, ``cuLaunchKernel``)."""
    RANGE = 2
    """A named range: ``ProfilerStep#n``, ``record_function``, optimizer and loader ranges, NVTX."""
    OVERHEAD = 3
    """Work of the profiler itself: never the program's."""


class DeviceKind(IntEnum):
    """What a device row is."""

    KERNEL = 0
    COPY = 1
    MEMSET = 2


@frozen
class HostEvents:
    """Rows of host work, ordered by start.

    Attributes:
        start, dur: int64 ns.
        name: int32 index into ``Recording.names``.
        kind: int8, a HostKind.
        thread: int32 index into ``Recording.threads``.
        correlation: int64, joins a CALL with device rows; NONE when absent.
        external: int64, joins an OP with the calls and device rows it caused; NONE when absent.
        sequence: int64 autograd sequence number; NONE when absent.
        signature: int32 index into ``Recording.signatures``; NONE when absent.
    """

    start: Ints
    dur: Ints
    name: Ints32
    kind: Kinds
    thread: Ints32
    correlation: Ints
    external: Ints
    sequence: Ints
    signature: Ints32

    def __len__(self) -> int:
        return len(self.start)

    @property
    def end(self) -> Ints:
        """int64 ns."""
        return self.start + self.dur


@frozen
class DeviceEvents:
    """Rows of device work (kernels, copies, memsets), ordered by start.

    Attributes:
        start, dur: int64 ns.
        name: int32 index into ``Recording.names``.
        kind: int8, a DeviceKind.
        device: int32 device id.
        stream: int64 stream id as recorded.
        correlation: int64, the call that launched it (many rows share one in a graph launch).
        external: int64, the OP that caused it; NONE when absent.
        size: int64 bytes of a copy or memset; NONE for kernels and where unknown.
        blocks: int64 thread blocks of a kernel (product of the grid); NONE where unknown.
        threads: int32 threads per block; NONE where unknown.
        signature: int32 index into ``Recording.signatures`` of collective arguments; NONE if none.
    """

    start: Ints
    dur: Ints
    name: Ints32
    kind: Kinds
    device: Ints32
    stream: Ints
    correlation: Ints
    external: Ints
    size: Ints
    blocks: Ints
    threads: Ints32
    signature: Ints32

    def __len__(self) -> int:
        return len(self.start)

    @property
    def end(self) -> Ints:
        """int64 ns."""
        return self.start + self.dur


@frozen
class PythonEvents:
    """Rows of Python frames (``with_stack``), ordered by start.

    Attributes:
        start, dur: int64 ns.
        name: int32 index into ``Recording.names``, as recorded: ``train.py(42): step``,
            ``nn.Module: Linear_3``, ``<built-in method item of Tensor object at 0x..>``.
        thread: int32 index into ``Recording.threads``.
    """

    start: Ints
    dur: Ints
    name: Ints32
    thread: Ints32

    def __len__(self) -> int:
        return len(self.start)

    @property
    def end(self) -> Ints:
        """int64 ns."""
        return self.start + self.dur


@frozen
class StreamWaits:
    """Recorded waits (Kineto ``cuda_sync``, nsys SYNCHRONIZATION), ordered by start.

    Attributes:
        start, dur: int64 ns.
        name: int32 index into names (``Stream Wait Event``, ``Context Sync``, ``Event Sync`` ...).
        stream: int64, the stream that waits; NONE when the host waits for all.
        on_stream: int64, the stream waited for; NONE where unknown.
        correlation: int64, the host call.
        event_correlation: int64, the call that recorded the event; NONE where unknown.
    """

    start: Ints
    dur: Ints
    name: Ints32
    stream: Ints
    on_stream: Ints
    correlation: Ints
    event_correlation: Ints

    def __len__(self) -> int:
        return len(self.start)


@frozen
class Thread:
    """A host thread: process and thread id as recorded (ids may be strings), and its name."""

    pid: str
    tid: str
    name: str


@frozen
class Signature:
    """Arguments of an operator as raw JSON bytes, decoded on demand by roofline.

    Attributes:
        dims: ``[[4096, 512], [512]]`` or empty.
        types: ``["float", "float"]`` or empty.
        strides: ``[[512, 1], [1]]`` or empty.
        concrete: ``["", "1"]`` or empty.
    """

    dims: bytes
    types: bytes
    strides: bytes
    concrete: bytes


@frozen
class Device:
    """A device named by the recording; ``memory_bytes`` and ``multiprocessors`` 0 where unknown."""

    id: int
    name: str
    memory_bytes: int = 0
    multiprocessors: int = 0


@frozen
class Source:
    """Where the recording came from. ``format`` is ``kineto``, ``nsight-systems`` ..."""

    path: str
    format: str
    bytes: int
    events: int


@frozen
class Caliber:
    """What makes the numbers comparable, as far as the recording tells; unknown is None."""

    device: str | None = None
    device_count: int = 0
    torch: str | None = None
    cuda: str | None = None
    rank: int | None = None
    world_size: int | None = None
    record_shapes: bool | None = None
    with_stack: bool | None = None


@frozen
class Quality:
    """One finding about the recording itself.

    Attributes:
        id: Stable name, e.g. ``truncated``, ``no-kernels``, ``kernel-before-launch``.
        severity: ``fatal`` voids a verdict, ``warning`` weakens a number, ``info`` is told.
        count: How many events it concerns.
        message: One sentence for the reader.
    """

    id: str
    severity: Severity
    count: int
    message: str


@frozen
class Recording:
    """A recording of one process: host rows, device rows, and what is known about both.

    Attributes:
        origin_ns: Absolute time of 0, nanoseconds of the recorder's clock.
        names: Interned event names, as recorded (may hold control characters).
        window_ns: Recorded window ``(start, end)`` where the recorder states it, else the span.
    """

    source: Source
    caliber: Caliber
    quality: tuple[Quality, ...]
    origin_ns: int
    window_ns: tuple[int, int]
    names: list[str]
    threads: list[Thread]
    devices: list[Device]
    signatures: list[Signature]
    host: HostEvents
    device: DeviceEvents
    python: PythonEvents
    waits: StreamWaits
    main_thread: int = NONE
    """Index into ``threads`` of the thread that holds the steps; NONE where unknown."""
    extra: dict[str, str] = field(default_factory=dict)
    """Facts for the reader only, never shown raw."""
