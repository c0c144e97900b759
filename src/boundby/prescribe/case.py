"""What a prescription may look at when it decides whether it applies."""

from __future__ import annotations

from collections.abc import Mapping

from boundby.evidence.facts import Evidence, Place
from boundby.evidence.signs import Signs
from boundby.evidence.tables import OpRow, RangeRow, SyncRow
from boundby.frozen import frozen
from boundby.read.recording import Caliber
from boundby.replay.values import Estimate, Part, WhatIf
from boundby.timeline.summary import DeviceSummary, HostSummary
from boundby.verdict.decision import Rung, Verdict


@frozen
class Live:
    """What only a live run knows; None everywhere for a recording.

    Attributes:
        cores: Processor cores the program may use.
        threads: Threads of one process for operators on the host.
        workers: Worker processes of the DataLoader.
        worker_threads: Most threads of one of them.
        memory_used: Peak of allocated device memory, share of its capacity.
        memory_stranded: Reserved but unallocated memory at the peak, share of the capacity.
        cudnn_benchmark: ``torch.backends.cudnn.benchmark``.
        fp32_checked: Whether a correctness reference in fp32 exists and is met.
        switches: Debug switches found on, by name.
        debugger: What watches every line of the program; None where nothing does.
        other_processes: Processes on the device besides this one.
        clock_share: Clock of the device under load over its highest.
        clock_reasons: Why it is lower, as the driver says.
        collections, collection_ms: Runs of the garbage collector a step, and their time.
        unscaled_fp16: Whether the program trains in fp16 without scaling its loss.
        built_in_loop: Lines of the loop that build tensors from Python values.
    """

    cores: int | None = None
    threads: int | None = None
    workers: int | None = None
    worker_threads: int | None = None
    memory_used: float | None = None
    memory_stranded: float | None = None
    cudnn_benchmark: bool | None = None
    fp32_checked: bool | None = None
    switches: tuple[str, ...] = ()
    debugger: str | None = None
    other_processes: int | None = None
    clock_share: float | None = None
    clock_reasons: tuple[str, ...] = ()
    collections: float | None = None
    collection_ms: float | None = None
    unscaled_fp16: bool | None = None
    built_in_loop: tuple[Place, ...] = ()


NO_SIGNS = Signs()
NO_LIVE = Live()


@frozen
class Case:
    """One diagnosed program.

    Attributes:
        step: ``unprofiled_ms``.
        shares: Share of the step of each waterfall part.
        what_if: Predicted steps by edit id.
        evidence: Facts by id.
    """

    verdict: Verdict
    step: Estimate
    shares: Mapping[Part, float]
    what_if: Mapping[str, WhatIf]
    ladder: tuple[Rung, ...]
    device: DeviceSummary
    host: HostSummary
    caliber: Caliber
    evidence: Mapping[str, Evidence]
    syncs: tuple[SyncRow, ...]
    ops: tuple[OpRow, ...]
    ranges: tuple[RangeRow, ...]
    signs: Signs = NO_SIGNS
    live: Live = NO_LIVE
