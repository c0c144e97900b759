"""Launches of one kernel with one grid and block become one row of means."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import fields, replace

from boundby.kernels.values import Access, Kernel
from boundby.kernels.verdict import judge
from boundby.read.nsight_compute_values import KernelLaunch, Metrics, Pipe

LIMITERS = {
    "registers": "limit_registers",
    "shared memory": "limit_shared",
    "warps": "limit_warps",
    "blocks": "limit_blocks",
    "barriers": "limit_barriers",
}
"""What bounds the number of blocks on a multiprocessor, and the field that says how many."""


def group(launches: Iterable[KernelLaunch]) -> tuple[Kernel, ...]:
    """The kernels of a file, the longest first; shares are of all their time together."""
    groups: dict[object, list[KernelLaunch]] = {}
    for launch in launches:
        groups.setdefault((launch.name, launch.grid, launch.block), []).append(launch)
    kernels = [_kernel(same) for same in groups.values()]
    times = [kernel.total_ns for kernel in kernels]
    total = sum(time or 0.0 for time in times)
    kernels.sort(key=lambda kernel: -(kernel.total_ns or 0.0))
    if None in times or not total:
        return tuple(kernels)
    return tuple(replace(kernel, share=(kernel.total_ns or 0.0) / total) for kernel in kernels)


def _kernel(same: Sequence[KernelLaunch]) -> Kernel:
    first = same[0]
    metrics = _mean(same)
    count = sum(launch.launches for launch in same)
    pipe = _mean_pipe(same)
    waves = _waves(first.blocks, metrics)
    return Kernel(
        name=first.name,
        grid=first.grid,
        block=first.block,
        launches=count,
        total_ns=None if metrics.duration_ns is None else metrics.duration_ns * count,
        share=None,
        metrics=metrics,
        stalls=_mean_stalls(same),
        pipe=pipe,
        limiters=_limiters(metrics),
        waves=waves,
        tail=None if not waves else 1.0 - waves / math.ceil(waves),
        access=_access(metrics),
        verdict=judge(metrics, pipe),
    )


def _weight(launch: KernelLaunch) -> float:
    return launch.launches * (launch.metrics.duration_ns or 1.0)


def _mean(same: Sequence[KernelLaunch]) -> Metrics:
    """Means weighted by time, of what every launch has; the duration by launches."""
    found: dict[str, float | None] = {}
    for entry in fields(Metrics):
        values = [getattr(launch.metrics, entry.name) for launch in same]
        is_time = entry.name == "duration_ns"
        weights = [launch.launches if is_time else _weight(launch) for launch in same]
        found[entry.name] = None if None in values else _weighted(values, weights)
    return Metrics(**found)


def _weighted(values: Sequence[float], weights: Sequence[float]) -> float:
    pairs = zip(values, weights, strict=True)
    return sum(value * weight for value, weight in pairs) / sum(weights)


def _mean_stalls(same: Sequence[KernelLaunch]) -> dict[str, float]:
    whole = sum(map(_weight, same))
    mean: dict[str, float] = {}
    for launch in same:
        for reason, share in launch.stalls.items():
            mean[reason] = mean.get(reason, 0.0) + share * _weight(launch) / whole
    return dict(sorted(mean.items(), key=lambda pair: -pair[1]))


def _mean_pipe(same: Sequence[KernelLaunch]) -> Pipe | None:
    """The busiest pipeline of most of the time."""
    pipes = [launch.pipe for launch in same if launch.pipe is not None]
    if not pipes:
        return None
    name = max({pipe.name for pipe in pipes}, key=lambda each: sum(p.name == each for p in pipes))
    shares = [pipe.share for pipe in pipes if pipe.name == name]
    return Pipe(name, sum(shares) / len(shares))


def _limits(metrics: Metrics) -> dict[str, float]:
    found = {what: getattr(metrics, name) for what, name in LIMITERS.items()}
    return {what: limit for what, limit in found.items() if limit is not None and limit > 0}


def _limiters(metrics: Metrics) -> tuple[str, ...]:
    """What allows the fewest blocks; nothing where all warps of a multiprocessor are in use."""
    limits = _limits(metrics)
    if not limits or (metrics.occupancy_limit or 0.0) >= 1.0:
        return ()
    least = min(limits.values())
    return tuple(what for what, limit in limits.items() if limit == least)


def _waves(blocks: int | None, metrics: Metrics) -> float | None:
    """From the launch itself where it is known: the page rounds to two decimals."""
    limits = _limits(metrics)
    if blocks and limits and metrics.multiprocessors:
        return blocks / (min(limits.values()) * metrics.multiprocessors)
    return metrics.waves


def _access(metrics: Metrics) -> Access:
    return Access(
        load_sectors=_ratio(metrics.load_sectors, metrics.load_requests),
        store_sectors=_ratio(metrics.store_sectors, metrics.store_requests),
        load_bytes=metrics.load_bytes,
        store_bytes=metrics.store_bytes,
        excess_share=metrics.excess_share,
    )


def _ratio(sectors: float | None, requests: float | None) -> float | None:
    return sectors / requests if sectors is not None and requests else None
