"""What is read of a kernel that Nsight Compute measured: plain values, units in their names.

Unknown is None, never 0. Shares are of 1.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from boundby.frozen import frozen
from boundby.read.recording import Quality

SECTOR_BYTES = 32
"""Memory moves in sectors of 32 bytes (Nsight Compute, Profiling Guide, metrics decoder)."""


@frozen
class Metrics:
    """Counters of one kernel.

    Attributes:
        duration_ns: Nanoseconds from start to end.
        compute, memory: How near the compute and the memory side are to their peak ("speed of
            light"): each the busiest unit of its side.
        dram, l1, l2: How near these units of the memory side are to their peak.
        dram_bytes_per_s: Bytes per second read and written.
        occupancy, occupancy_limit: Warps in flight as a share of the most a multiprocessor
            holds: as measured, and as the launch allows.
        limit_registers, limit_shared, limit_warps, limit_blocks, limit_barriers: Blocks on a
            multiprocessor that each resource allows.
        issue: Share of cycles in which an instruction was issued.
        tensor: How busy the tensor cores are.
        l1_hit, l2_hit: Hit rates of the caches.
        load_sectors, load_requests, store_sectors, store_requests: Global memory, counts.
        load_bytes, store_bytes: Bytes of each sector of 32 that the threads asked for.
        excess_share: Share of the sectors that a perfect pattern would not move.
        waves: Launched blocks over those the device holds at once.
        multiprocessors: Of the device.
        registers: Per thread.
        spills: Requests to local memory for spilled registers.
        warp_latency: Cycles of a warp between two of its instructions.
    """

    duration_ns: float | None = None
    compute: float | None = None
    memory: float | None = None
    dram: float | None = None
    l1: float | None = None
    l2: float | None = None
    dram_bytes_per_s: float | None = None
    occupancy: float | None = None
    occupancy_limit: float | None = None
    limit_registers: float | None = None
    limit_shared: float | None = None
    limit_warps: float | None = None
    limit_blocks: float | None = None
    limit_barriers: float | None = None
    issue: float | None = None
    tensor: float | None = None
    l1_hit: float | None = None
    l2_hit: float | None = None
    load_sectors: float | None = None
    load_requests: float | None = None
    store_sectors: float | None = None
    store_requests: float | None = None
    load_bytes: float | None = None
    store_bytes: float | None = None
    excess_share: float | None = None
    waves: float | None = None
    multiprocessors: float | None = None
    registers: float | None = None
    spills: float | None = None
    warp_latency: float | None = None


@frozen
class Pipe:
    """The busiest pipeline of the multiprocessors, by ncu's name, and how busy it is."""

    name: str
    share: float


@frozen
class KernelLaunch:
    """One measured launch, or the mean of several where the file holds no more.

    Attributes:
        name: As demangled.
        grid, block: Blocks and threads; None where unknown.
        launches: How many the values are the mean of.
        stalls: Share of the time between two instructions of a warp, by reason; the reasons are
            those of the metrics (``long_scoreboard``).
    """

    name: str
    grid: tuple[int, int, int] | None
    block: tuple[int, int, int] | None
    launches: int
    metrics: Metrics
    stalls: Mapping[str, float] = field(default_factory=dict)
    pipe: Pipe | None = None

    @property
    def blocks(self) -> int | None:
        """Thread blocks of the launch."""
        return None if self.grid is None else self.grid[0] * self.grid[1] * self.grid[2]


@frozen
class KernelProfile:
    """All launches of one file.

    Attributes:
        path: As given.
        format: ``nsight-compute-raw``, ``nsight-compute-details`` or ``nsight-compute-report``.
        bytes: Of the file.
        device: Name, where told.
        capability: Compute capability such as ``9.0``, where told.
        quality: What was lost or is missing.
    """

    path: str
    format: str
    bytes: int
    device: str | None
    capability: str | None
    launches: tuple[KernelLaunch, ...]
    quality: tuple[Quality, ...] = ()
