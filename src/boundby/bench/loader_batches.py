"""What is kept of each batch of a loader, and what several of them say."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from statistics import median
from typing import Any

from boundby.bench.framework import tensors_in
from boundby.bench.loader_values import Stages
from boundby.memory.processes import Sample
from boundby.units import NS_PER_S


@dataclass(frozen=True)
class Seen:
    """What is kept of a batch; times in ns, -1 where unknown."""

    samples: int | None
    size_bytes: int
    at: int = 0
    pid: int = -1
    private: int = -1
    resident: int = -1
    fetch: int = -1
    transform: int = 0
    collate: int = 0
    pin: int = 0
    observed: int = 0


def seen(batch: Any, now: int, *, one_a_batch: bool) -> Seen:  # noqa: ANN401 -- timed or not
    """What is kept of a batch that came at a time, ns."""
    is_timed = hasattr(batch, "observed_ns")
    tensors = tensors_in(batch.batch if is_timed else batch)
    rows = [int(each.shape[0]) for each in tensors if each.dim()]
    size = sum(int(each.numel()) * int(each.element_size()) for each in tensors)
    samples = 1 if one_a_batch else rows[0] if rows else None
    if not is_timed:
        return Seen(samples, size, now)
    return Seen(
        samples,
        size,
        now,
        batch.pid,
        batch.private_bytes,
        batch.resident_bytes,
        batch.fetch_ns,
        batch.transform_ns,
        batch.collate_ns,
        batch.pin_ns,
        batch.observed_ns,
    )


def stages(kept: list[Seen]) -> Stages | None:
    """Medians of the stages; None where no batch tells them."""
    known = [each for each in kept if each.fetch >= 0]
    if not known:
        return None
    has_transform = any(each.transform for each in known)
    return Stages(
        fetch=median(each.fetch - each.transform for each in known),
        transform=median(each.transform for each in known) if has_transform else None,
        collate=median(each.collate for each in known),
        pin=median(each.pin for each in known) if any(each.pin for each in known) else None,
    )


def busy(kept: list[Seen], span: float, workers: int) -> float | None:
    """Work of the batches that came, over the time all workers had; at most 1."""
    known = [each.fetch + each.collate for each in kept if each.fetch >= 0]
    if not workers or not known or not span:
        return None
    return min(sum(known) / (span * workers), 1.0)


def growth(kept: list[Seen]) -> int | None:
    """Largest growth of a worker's own memory between its first and its last batch."""
    return max(_growths(kept), default=None)


def _growths(kept: list[Seen]) -> Iterator[int]:
    for pid in {each.pid for each in kept if each.private >= 0}:
        own = [each.private for each in kept if each.pid == pid]
        yield own[-1] - own[0]


def readings(kept: list[Seen]) -> Iterator[Sample]:
    """One of each time that the memory of a process was read."""
    last: dict[int, tuple[int, int]] = {}
    for each in kept:
        found = (each.private, each.resident)
        if each.private < 0 or last.get(each.pid) == found:
            continue
        last[each.pid] = found
        at = each.at / NS_PER_S
        is_worker = each.pid != os.getpid()
        yield Sample(each.pid, at, each.resident, each.private, is_worker)
