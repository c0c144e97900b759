"""Memory of the host: resident size of a process and its workers over time, page-locked buffers.

``psutil`` reads it where it is installed; without it these functions say so and measure nothing.
"""

from __future__ import annotations

import importlib
import importlib.util
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from boundby.memory.facts import MIB, Fact, size_text
from boundby.memory.trend import trend

LEAST_GROWTH = 16 * MIB
PINNED_SHARE = 0.5
"""Of the host's memory: page-locked buffers above it leave too little for the page cache."""

DATASET_SHARE = 0.6
"""Of the available memory: a data set below it can stay in memory."""


@dataclass(frozen=True)
class Sample:
    """One reading of a process.

    Attributes:
        time: Seconds on a monotonic clock.
        resident: Bytes of RAM that the process uses.
        unique: Of these, bytes that it shares with nobody; None where the system does not say.
        is_worker: Whether it is a child of the process watched.
    """

    pid: int
    time: float
    resident: int
    unique: int | None
    is_worker: bool


@dataclass(frozen=True)
class HostMemory:
    """What the host has."""

    total: int
    available: int


def is_known() -> bool:
    """Whether this process can read memory of processes."""
    return importlib.util.find_spec("psutil") is not None


def host_memory() -> HostMemory | None:
    """Bytes of the host; None without psutil."""
    if not is_known():
        return None
    found = importlib.import_module("psutil").virtual_memory()
    return HostMemory(int(found.total), int(found.available))


def read_processes(pid: int) -> list[Sample]:
    """One sample of a process and each of its children; empty without psutil or process."""
    if not is_known():
        return []
    psutil = importlib.import_module("psutil")
    try:
        parent = psutil.Process(pid)
        family = [(parent, False), *((child, True) for child in parent.children(recursive=True))]
    except psutil.Error:
        return []
    return [
        sample
        for each, is_worker in family
        if (sample := _sample(psutil, each, is_worker=is_worker))
    ]


def _sample(psutil: Any, process: Any, *, is_worker: bool) -> Sample | None:  # noqa: ANN401 -- psutil's
    try:
        resident = int(process.memory_info().rss)
        full = process.memory_full_info() if hasattr(process, "memory_full_info") else None
    except psutil.Error:
        return None
    unique = int(full.uss) if full is not None and hasattr(full, "uss") else None
    return Sample(int(process.pid), time.monotonic(), resident, unique, is_worker)


def growth_facts(samples: Sequence[Sample]) -> tuple[Fact, ...]:
    """Processes whose memory grows over the samples; of workers, by copies on write or by a leak.

    A worker that touches Python objects of its parent copies their pages, for each object holds a
    count of references: its unique memory rises and levels off at the size of the data. A leak
    does not level off.
    """
    facts = []
    for pid in dict.fromkeys(sample.pid for sample in samples):
        own = [sample for sample in samples if sample.pid == pid]
        series = np.array(
            [each.unique if each.unique is not None else each.resident for each in own]
        )
        found = trend(series.astype(np.int64))
        gained = int(series[-1] - series[0])
        if not found.rises or gained < LEAST_GROWTH:
            continue
        half = len(series) // 2
        levels_off = series[-1] - series[half] < (series[half] - series[0]) / 4
        who = "worker" if own[0].is_worker else "process"
        what = "and levels off: pages copied on write" if levels_off else "and does not level off"
        text = f"a {who} grows by {size_text(gained)} over {len(own)} samples, {what}"
        name = "host-worker-growth" if own[0].is_worker else "host-growth"
        facts.append(Fact(name, float(gained), "bytes", text))
    return tuple(facts)


def pinned_bytes(batch: int, prefetch: int, workers: int) -> int:
    """Page-locked bytes of a loader: each worker prepares ``prefetch`` batches, one is in use."""
    return batch * (prefetch * max(workers, 1) + 1)


def pinned_fact(batch: int, prefetch: int, workers: int, host: HostMemory | None) -> Fact:
    """How much a loader locks, against what the host has."""
    size = pinned_bytes(batch, prefetch, workers)
    text = f"{size_text(size)} page-locked: {workers} workers x {prefetch} batches"
    text += f" of {size_text(batch)}"
    if host is not None:
        is_much = size > PINNED_SHARE * host.total
        text += f", {size / host.total:.0%} of the host" + (": too much" if is_much else "")
    return Fact("host-pinned", float(size), "bytes", text, "derived")


def dataset_fact(size: int, host: HostMemory | None) -> Fact:
    """Whether a data set fits in memory."""
    if host is None:
        return Fact(
            "host-dataset", float(size), "bytes", f"the data set holds {size_text(size)}", "derived"
        )
    fits = size <= DATASET_SHARE * host.available
    words = "fits in memory: read it once" if fits else "does not fit: map it, or read ahead"
    text = (
        f"the data set holds {size_text(size)} of {size_text(host.available)} available: it {words}"
    )
    return Fact("host-dataset", float(size), "bytes", text, "derived")


def offload_limit(step_s: float, link_bytes_per_s: float, host: HostMemory | None) -> int:
    """Bytes that can travel to the host and back within a step, and that the host can hold."""
    moved = int(step_s * link_bytes_per_s / 2)
    return moved if host is None else min(moved, host.available)
