"""What is said of measured kernels; reports format these and compute nothing. Shares are of 1."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from boundby.read.nsight_compute_values import Metrics, Pipe
from boundby.read.recording import Quality

KernelClass = Literal["latency-bound", "memory-bound", "compute-bound", "at-limit", "undecided"]
Side = Literal["compute", "memory"]


@dataclass(frozen=True)
class KernelVerdict:
    """What bounds one kernel.

    Attributes:
        name: The class.
        side: The busier side of the device; None where unknown.
        unit: The busiest unit of that side (``DRAM``, ``L2``, ``Tensor`` ...); None where unknown.
        is_balanced: Whether the other side is nearly as busy, so that both must be relieved.
        undecided_reason: Why there is no class; None where there is one.
    """

    name: KernelClass
    side: Side | None = None
    unit: str | None = None
    is_balanced: bool = False
    undecided_reason: str | None = None


@dataclass(frozen=True)
class Access:
    """How well the global accesses of a kernel are coalesced; None where not measured.

    Attributes:
        load_sectors, store_sectors: Sectors of 32 bytes that one request of a warp moves.
        load_bytes, store_bytes: Bytes of each sector that the threads asked for, of 32.
        excess_share: Share of the sectors that a perfect pattern would not move.
    """

    load_sectors: float | None = None
    store_sectors: float | None = None
    load_bytes: float | None = None
    store_bytes: float | None = None
    excess_share: float | None = None


@dataclass(frozen=True)
class Finding:
    """One thing to look at in a kernel: an id that can be explained, and a sentence."""

    id: str
    text: str


@dataclass(frozen=True)
class Kernel:
    """Launches of one kernel with one grid and block, as the mean of all of them.

    Attributes:
        name: As demangled.
        grid, block: None where unknown.
        launches: How many.
        total_ns: All launches together; None where not measured.
        share: Of the time of the file; None where that is unknown.
        metrics: Means, weighted by time.
        stalls: Share of the time between two instructions of a warp by reason, longest first.
        limiters: What keeps the occupancy at its limit: ``registers``, ``shared memory`` ...
        waves: Launched blocks over those that the device holds at once.
        tail: Share of the places of all waves that stay empty.
    """

    name: str
    grid: tuple[int, int, int] | None
    block: tuple[int, int, int] | None
    launches: int
    total_ns: float | None
    share: float | None
    metrics: Metrics
    stalls: Mapping[str, float]
    pipe: Pipe | None
    limiters: tuple[str, ...]
    waves: float | None
    tail: float | None
    access: Access
    verdict: KernelVerdict
    findings: tuple[Finding, ...] = ()

    @property
    def blocks(self) -> int | None:
        """Thread blocks of a launch."""
        return None if self.grid is None else self.grid[0] * self.grid[1] * self.grid[2]


@dataclass(frozen=True)
class ClassShare:
    """The time of one class, and of one side where it stands at a limit."""

    name: KernelClass
    side: Side | None
    ns: float
    share: float


@dataclass(frozen=True)
class FileVerdict:
    """What bounds most of the time of the file.

    Attributes:
        share: Of the time of the file.
        shares: Every class by its time, the longest first.
        at_limit_ns: Time if every kernel stood at 80% of the side it uses most.
    """

    name: KernelClass
    side: Side | None
    share: float | None
    shares: tuple[ClassShare, ...]
    at_limit_ns: float | None
    undecided_reason: str | None = None


@dataclass(frozen=True)
class LookNext:
    """A finding, and the kernel and time it is about."""

    id: str
    kernel: str
    share: float | None
    text: str


@dataclass(frozen=True)
class NextStep:
    """A command worth typing next and the question it answers."""

    command: str
    question: str


@dataclass(frozen=True)
class KernelAnalysis:
    """Everything that is said about one file.

    Attributes:
        launches: How many were measured.
        total_ns: Of all launches; None where one was not timed.
        kernels: The longest first.
    """

    path: str
    format: str
    bytes: int
    launches: int
    device: str | None
    capability: str | None
    multiprocessors: int | None
    quality: tuple[Quality, ...]
    total_ns: float | None
    verdict: FileVerdict
    kernels: tuple[Kernel, ...]
    look_next: tuple[LookNext, ...]
    next: tuple[NextStep, ...]
