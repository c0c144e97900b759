"""Memory of the host: what its facts are, from readings of a process and its workers over time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from boundby.memory import remedies as known
from boundby.memory.facts import MIB, Fact, size_text
from boundby.memory.processes import HostMemory, Sample
from boundby.memory.remedies import Remedy
from boundby.memory.trend import STEADY, trend
from boundby.read.recording import Ints

LEAST_GROWTH = 16 * MIB
PINNED_SHARE = 0.5
"""Of the host's memory: page-locked buffers above it leave too little for the page cache."""

DATASET_SHARE = 0.6
"""Of the available memory: a data set below it can stay in memory."""

LEAST_LEFT = 0.1
"""Of the host's memory: with less available than this the next worker may be killed."""

OWNED = 0.5
"""Of what a process gains for itself. If less of it is new memory, the rest was shared before: a
page that is copied was resident already, so the resident size does not rise with it."""

LEAST_COPIED = 96 * MIB
"""A worker copies the interpreter's own objects too, at the latest when the garbage collector runs
in it: 64 MiB were seen with torch 2.13 and a data set that is one array."""

FEWEST = 3
"""Readings that tell a copied page: it is seen, where a trend must be inferred."""

LINK = 20 * 10**9
"""Bytes per second between host and device, the low end of PCIe 4 x16; twice that on PCIe 5."""

Kind = Literal["copy-on-write", "levels-off", "leak"]
WORDS: dict[Kind, str] = {
    "copy-on-write": "its resident size does not rise with it: pages copied on write",
    "levels-off": "and levels off",
    "leak": "and does not level off",
}


@dataclass(frozen=True)
class Growing:
    """One process whose memory grows.

    Attributes:
        gained: Bytes of its own, from the first reading to the last.
        samples: How many readings tell.
    """

    pid: int
    is_worker: bool
    kind: Kind
    gained: int
    samples: int


@dataclass(frozen=True)
class Loading:
    """What a loader holds on the host; None where unknown.

    Attributes:
        batch: Bytes of a batch.
        prefetch: Batches that each worker prepares; 0 without workers.
        pins: Whether batches are page-locked.
        samples: Samples of the data set.
        in_batch: Samples of a batch.
    """

    batch: int | None
    workers: int
    prefetch: int
    pins: bool
    samples: int | None = None
    in_batch: int | None = None

    @property
    def dataset(self) -> int | None:
        """Bytes of all samples as the loader hands them out: a guess at what the data set holds."""
        if self.batch is None or self.samples is None or not self.in_batch:
            return None
        return self.batch * self.samples // self.in_batch


@dataclass(frozen=True)
class HostUse:
    """The memory of the host in a run or under a loader.

    Attributes:
        total: Bytes of the host; None where unknown.
        available_least: The least that was available while it was watched.
        main_peak: Most resident bytes of the program's own process.
        workers: Child processes seen.
        worker_peak: Most bytes that one of them had for itself.
    """

    total: int | None
    available_least: int | None
    main_peak: int | None
    workers: int
    worker_peak: int | None
    growing: tuple[Growing, ...]
    facts: tuple[Fact, ...]
    prescriptions: tuple[Remedy, ...]


def host_use(
    samples: Sequence[Sample],
    host: HostMemory | None,
    loading: Loading | None = None,
    step_s: float | None = None,
    settled_s: float | None = 0.0,
) -> HostUse | None:
    """What the readings of a program and its workers say; None without readings and loader.

    Args:
        host: Least available while they were taken.
        step_s: Seconds of a step on a device, for what could be moved to the host within it.
        settled_s: From when on the program's own process may not grow, on the clock of the
            readings; before, it starts or is observed. None where that never came.
    """
    if not samples and loading is None:
        return None
    main = [each.resident for each in samples if not each.is_worker]
    own = [each.unique for each in samples if each.is_worker and each.unique is not None]
    judged = [
        each
        for each in samples
        if each.is_worker or (settled_s is not None and each.time >= settled_s)
    ]
    growing = tuple(find_growing(judged))
    facts = (
        *map(growth_fact, growing),
        *(loading_facts(loading, host) if loading else ()),
        *(room_facts(host, step_s)),
    )
    return HostUse(
        total=host.total if host else None,
        available_least=host.available if host else None,
        main_peak=max(main, default=None),
        workers=len({each.pid for each in samples if each.is_worker}),
        worker_peak=max(own, default=None),
        growing=growing,
        facts=facts,
        prescriptions=tuple(advise(growing, facts, loading, host)),
    )


def find_growing(samples: Sequence[Sample]) -> Iterator[Growing]:
    """Processes whose own memory rises beyond chance, and why.

    A worker that touches Python objects of its parent copies their pages, for each object holds a
    count of references. Those pages were resident before, shared: its own memory rises and its
    resident size does not. A leak raises both.
    """
    for pid in dict.fromkeys(sample.pid for sample in samples):
        mine = [sample for sample in samples if sample.pid == pid]
        told = [each for each in mine if each.unique is not None] or mine
        own = np.array([each.resident if each.unique is None else each.unique for each in told])
        resident = np.array([each.resident for each in told])
        gained = int(own[-1] - own[0])
        kind = None if gained < LEAST_GROWTH else _kind(own, resident, gained)
        if kind is not None:
            yield Growing(pid, told[0].is_worker, kind, gained, len(told))


def _kind(own: Ints, resident: Ints, gained: int) -> Kind | None:
    """Why it rises; None where it may be chance."""
    if len(own) < FEWEST:
        return None
    is_steady = float((np.diff(own) >= 0).mean()) >= STEADY
    if is_steady and gained >= LEAST_COPIED and int(resident[-1] - resident[0]) < OWNED * gained:
        return "copy-on-write"
    if int(resident[-1] - resident[0]) < OWNED * gained or not trend(own.astype(np.int64)).rises:
        return None
    half = len(own) // 2
    is_level = own[-1] - own[half] < (own[half] - own[0]) / 4
    return "levels-off" if is_level else "leak"


def growth_fact(found: Growing) -> Fact:
    """``host-worker-growth`` or ``host-growth``."""
    who = "worker" if found.is_worker else "process"
    text = f"a {who} gains {size_text(found.gained)} of its own over {found.samples} readings, "
    name = "host-worker-growth" if found.is_worker else "host-growth"
    return Fact(name, float(found.gained), "bytes", text + WORDS[found.kind])


def loading_facts(loading: Loading, host: HostMemory | None) -> Iterator[Fact]:
    """What the loader locks against the depth of its queue, and whether the data set fits."""
    if loading.pins and loading.batch is not None:
        yield pinned_fact(loading.batch, loading.prefetch, loading.workers, host)
    if loading.dataset is not None:
        yield dataset_fact(loading.dataset, host)


def room_facts(host: HostMemory | None, step_s: float | None) -> Iterator[Fact]:
    """How little was left, and what could be kept on the host for a device."""
    if host is None:
        return
    if host.available < LEAST_LEFT * host.total:
        text = f"at least {size_text(host.available)} of {size_text(host.total)} were left: "
        yield Fact("host-left", float(host.available), "bytes", text + "a worker may be killed")
    if step_s is not None:
        limit = offload_limit(step_s, LINK, host)
        text = f"{size_text(limit)} can go to the host and back within a step at "
        text += f"{LINK / 10**9:.0f} GB/s, and {size_text(host.available)} are available there"
        yield Fact("host-offload", float(limit), "bytes", text, "estimated")


def pinned_bytes(batch: int, prefetch: int, workers: int) -> int:
    """Page-locked bytes of a loader: each worker prepares ``prefetch`` batches, one is in use."""
    return batch * (prefetch * max(workers, 1) + 1)


def pinned_fact(batch: int, prefetch: int, workers: int, host: HostMemory | None) -> Fact:
    """How much a loader locks, against what the host has."""
    size = pinned_bytes(batch, prefetch, workers)
    queue = f"{workers} workers x {prefetch} batches" if workers else "one batch at a time"
    text = f"{size_text(size)} page-locked: {queue} of {size_text(batch)}"
    if host is not None:
        is_much = size > PINNED_SHARE * host.total
        text += f", {size / host.total:.0%} of the host" + (": too much" if is_much else "")
    return Fact("host-pinned", float(size), "bytes", text, "derived")


def dataset_fact(size: int, host: HostMemory | None) -> Fact:
    """Whether a data set fits in memory."""
    if host is None:
        return Fact(
            "host-dataset",
            float(size),
            "bytes",
            f"as tensors the data set holds {size_text(size)}",
            "derived",
        )
    words = "fits in memory: read it once" if _fits(size, host) else "does not fit: map it"
    text = (
        f"as tensors the data set holds {size_text(size)}, {size_text(host.available)} are "
        f"available: it {words}"
    )
    return Fact("host-dataset", float(size), "bytes", text, "derived")


def _fits(size: int, host: HostMemory) -> bool:
    return size <= DATASET_SHARE * host.available


def offload_limit(step_s: float, link_bytes_per_s: float, host: HostMemory | None) -> int:
    """Bytes that can travel to the host and back within a step, and that the host can hold."""
    moved = int(step_s * link_bytes_per_s / 2)
    return moved if host is None else min(moved, host.available)


def advise(
    growing: Sequence[Growing],
    facts: Sequence[Fact],
    loading: Loading | None,
    host: HostMemory | None,
) -> Iterator[Remedy]:
    """What to do about the host's memory."""
    size = None if loading is None else loading.dataset
    is_large = size is not None and host is not None and not _fits(size, host)
    copied = [each for each in growing if each.kind == "copy-on-write"]
    if copied:
        gained = max(each.gained for each in copied)
        why = f"each worker copies {size_text(gained)} and more of what it could share"
        yield known.ARRAYS.because(why, gained * len(copied))
    if is_large:
        yield known.MEMORY_MAP.because(next(f.text for f in facts if f.id == "host-dataset"))
    if any(each.kind == "leak" and each.is_worker for each in growing):
        yield known.HOST_MEMORY.because("the memory of a worker rises without end")
    names = {fact.id for fact in facts if fact.id != "host-pinned" or "too much" in fact.text}
    if loading is not None and loading.pins and names & {"host-left", "host-pinned"}:
        yield known.SHALLOWER_QUEUE.because("page-locked memory cannot be swapped")
