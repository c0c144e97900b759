"""All figures of one kernel as short lines, for the detailed text and for Markdown."""

from __future__ import annotations

from collections.abc import Iterator

from boundby.kernels.values import Kernel
from boundby.report import numbers
from boundby.units import us

STALLS_SHOWN = 4


def rows(kernel: Kernel) -> Iterator[tuple[str, str]]:
    """Label and text of what is known; lines about which nothing is known are left out."""
    for label, parts in (
        ("launch", _launch(kernel)),
        ("throughput", _throughput(kernel)),
        ("occupancy", _occupancy(kernel)),
        ("waves", _waves(kernel)),
        ("memory", _memory(kernel)),
        ("stalls", _stalls(kernel)),
    ):
        text = ", ".join(parts)
        if text:
            yield label, text


def _share(name: str, share: float | None) -> Iterator[str]:
    if share is not None:
        yield f"{name} {numbers.share(share)}"


def _launch(kernel: Kernel) -> Iterator[str]:
    if kernel.grid and kernel.block:
        yield f"grid {_sizes(kernel.grid)}, block {_sizes(kernel.block)}"
    if kernel.metrics.duration_ns is not None:
        yield numbers.quantity(us(kernel.metrics.duration_ns), "us")


def _sizes(sizes: tuple[int, int, int]) -> str:
    return " x ".join(map(str, sizes))


def _throughput(kernel: Kernel) -> Iterator[str]:
    metrics = kernel.metrics
    for name, share in (
        ("compute", metrics.compute),
        ("memory", metrics.memory),
        ("DRAM", metrics.dram),
        ("L2", metrics.l2),
        ("L1", metrics.l1),
        ("tensor cores", metrics.tensor),
        ("issue slots", metrics.issue),
    ):
        yield from _share(name, share)
    if kernel.pipe is not None:
        yield f"busiest pipeline {kernel.pipe.name} {numbers.share(kernel.pipe.share)}"
    if metrics.dram_bytes_per_s is not None:
        yield numbers.quantity(metrics.dram_bytes_per_s / 1e12, "TB/s")


def _occupancy(kernel: Kernel) -> Iterator[str]:
    metrics = kernel.metrics
    yield from _share("achieved", metrics.occupancy)
    yield from _share("limit", metrics.occupancy_limit)
    if kernel.limiters:
        yield f"limited by {' and '.join(kernel.limiters)}"
    if metrics.registers is not None:
        yield f"{metrics.registers:.0f} registers a thread"


def _waves(kernel: Kernel) -> Iterator[str]:
    if kernel.waves is not None:
        yield f"{numbers.number(kernel.waves)}"
    if kernel.tail is not None:
        yield f"{numbers.share(kernel.tail)} of their places empty"


def _memory(kernel: Kernel) -> Iterator[str]:
    metrics, access = kernel.metrics, kernel.access
    yield from _share("L1 hits", metrics.l1_hit)
    yield from _share("L2 hits", metrics.l2_hit)
    for name, sectors in (("load", access.load_sectors), ("store", access.store_sectors)):
        if sectors is not None:
            yield f"{numbers.number(sectors)} sectors a {name} request"
    yield from _share("sectors for nothing", access.excess_share)


def _stalls(kernel: Kernel) -> Iterator[str]:
    for reason, share in [*kernel.stalls.items()][:STALLS_SHOWN]:
        yield from _share(reason, share)
