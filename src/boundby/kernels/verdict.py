"""The class of a kernel from how near both sides of the device are to their peak.

The bands are those of the rule "bottleneck" of Nsight Compute: below 60% on both sides nothing is
busy enough to be the limit, so latency is; from 80% on the busiest side has little left to give.
Both CSV pages hold the two figures, so both give the same class.
"""

from __future__ import annotations

from collections.abc import Iterable

from boundby.kernels.values import (
    ClassShare,
    FileVerdict,
    Kernel,
    KernelClass,
    KernelVerdict,
    Side,
)
from boundby.read.nsight_compute_values import Metrics, Pipe

AT_LIMIT = 0.8
BUSY = 0.6
BALANCED = 0.1
"""Sides closer than this are both relieved or none: the rule of ncu draws the same line."""
SAME_UNIT = 0.05
"""The side's figure is that of its busiest unit, up to what separate passes differ."""
BOUND_BY: dict[Side, KernelClass] = {"compute": "compute-bound", "memory": "memory-bound"}
NO_FIGURES = "the file lacks the throughput of compute or memory: profile with ncu --set full"


def judge(metrics: Metrics, pipe: Pipe | None) -> KernelVerdict:
    """The class of one kernel."""
    compute, memory = metrics.compute, metrics.memory
    if compute is None or memory is None:
        return KernelVerdict("undecided", undecided_reason=NO_FIGURES)
    side: Side = "compute" if compute >= memory else "memory"
    unit = _compute_unit(metrics, pipe) if side == "compute" else _memory_unit(metrics, memory)
    balanced = abs(compute - memory) < BALANCED
    busiest = max(compute, memory)
    if busiest >= AT_LIMIT:
        return KernelVerdict("at-limit", side, unit, balanced)
    if busiest >= BUSY:
        return KernelVerdict(BOUND_BY[side], side, unit, balanced)
    return KernelVerdict("latency-bound", side, unit)


def _memory_unit(metrics: Metrics, memory: float) -> str | None:
    known = {"DRAM": metrics.dram, "L2": metrics.l2, "L1": metrics.l1}
    away = {name: abs(share - memory) for name, share in known.items() if share is not None}
    name = min(away, key=lambda each: away[each], default=None)
    return name if name and away[name] <= SAME_UNIT else None


def _compute_unit(metrics: Metrics, pipe: Pipe | None) -> str | None:
    """The busiest pipeline, or the issue of instructions where no pipeline is that busy."""
    if pipe is not None and pipe.share >= min(BUSY, metrics.issue or 0.0):
        return pipe.name
    return None if metrics.issue is None else "issue"


def judge_file(kernels: Iterable[Kernel]) -> FileVerdict:
    """The class that most of the time belongs to."""
    known = [kernel for kernel in kernels if kernel.total_ns is not None]
    total = sum(kernel.total_ns or 0.0 for kernel in known)
    if not total:
        reason = "the file lacks the duration of its kernels: profile with ncu --set full"
        return FileVerdict("undecided", None, None, (), None, reason)
    shares = _shares(known, total)
    leader = shares[0]
    return FileVerdict(
        leader.name,
        leader.side,
        leader.share,
        shares,
        _at_limit(known),
        NO_FIGURES if leader.name == "undecided" else None,
    )


def _shares(kernels: Iterable[Kernel], total: float) -> tuple[ClassShare, ...]:
    time: dict[tuple[KernelClass, Side | None], float] = {}
    for kernel in kernels:
        verdict = kernel.verdict
        key = verdict.name, verdict.side if verdict.name == "at-limit" else None
        time[key] = time.get(key, 0.0) + (kernel.total_ns or 0.0)
    order = sorted(time, key=lambda key: (-time[key], key[0]))
    return tuple(ClassShare(*key, time[key], time[key] / total) for key in order)


def _at_limit(kernels: Iterable[Kernel]) -> float | None:
    """Time if each kernel reached the limit of the side it uses most; None where unknown."""
    time = 0.0
    for kernel in kernels:
        compute, memory = kernel.metrics.compute, kernel.metrics.memory
        if compute is None or memory is None or kernel.total_ns is None:
            return None
        time += kernel.total_ns * min(max(compute, memory) / AT_LIMIT, 1.0)
    return time
