"""Stages of a loader, timed where they run: in the worker, in the thread that pins.

Imports torch: loaded only when a loader is measured, and by its workers, which find these classes
by name.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from typing import Any

from boundby.memory.processes import read_process

data: Any = import_module("torch.utils.data")
pinning: Any = import_module("torch.utils.data._utils.pin_memory")

MEMORY_EVERY_NS = 200_000_000
"""Private memory is read this often: the kernel walks all pages of the process for it."""


class Spent:
    """Times of the stages since the last batch, ns, one a process."""

    fetch = 0
    transform = 0
    memory_read = 0
    private = -1
    resident = -1


class TimedBatch:
    """A batch and what it cost.

    Attributes:
        fetch_ns, transform_ns, collate_ns, pin_ns: Stages; fetch holds transform.
        pid: Process of the worker.
        private_bytes: Memory of its own, -1 where unknown.
        resident_bytes: Memory it uses, shared or not, read at the same time.
        observed_ns: What reading it cost.
    """

    def __init__(self, batch: Any, fetch_ns: int, transform_ns: int, collate_ns: int) -> None:  # noqa: ANN401
        self.batch = batch
        self.fetch_ns = fetch_ns
        self.transform_ns = transform_ns
        self.collate_ns = collate_ns
        self.pin_ns = 0
        self.pid = os.getpid()
        begin = time.perf_counter_ns()
        self.private_bytes = private_bytes()
        self.resident_bytes = Spent.resident
        self.observed_ns = time.perf_counter_ns() - begin

    def pin_memory(self) -> TimedBatch:
        """Called by the thread that pins."""
        begin = time.perf_counter_ns()
        self.batch = pinning.pin_memory(self.batch)
        self.pin_ns = time.perf_counter_ns() - begin
        return self


class TimedDataset(data.Dataset):  # type: ignore[misc]
    """A dataset by index."""

    def __init__(self, inner: Any) -> None:  # noqa: ANN401 -- the user's own
        self.inner = inner
        _time_transform(inner)

    def __len__(self) -> int:
        return len(self.inner)

    def __getitem__(self, index: Any) -> Any:  # noqa: ANN401 -- the user's own
        begin = time.perf_counter_ns()
        sample = self.inner[index]
        Spent.fetch += time.perf_counter_ns() - begin
        return sample

    def __getitems__(self, indices: Sequence[Any]) -> list[Any]:
        begin = time.perf_counter_ns()
        fetch = getattr(self.inner, "__getitems__", None)
        samples = fetch(indices) if fetch else [self.inner[index] for index in indices]
        Spent.fetch += time.perf_counter_ns() - begin
        return samples


class TimedStream(data.IterableDataset):  # type: ignore[misc]
    """A dataset that is iterated."""

    def __init__(self, inner: Any) -> None:  # noqa: ANN401 -- the user's own
        self.inner = inner
        _time_transform(inner)

    def __iter__(self) -> Iterator[Any]:
        samples = iter(self.inner)
        while True:
            begin = time.perf_counter_ns()
            try:
                sample = next(samples)
            except StopIteration:
                return
            Spent.fetch += time.perf_counter_ns() - begin
            yield sample


class TimedTransform:
    """A transform; its time lies inside that of fetching."""

    def __init__(self, inner: Callable[..., Any]) -> None:
        self.inner = inner

    def __call__(self, *args: Any, **keywords: Any) -> Any:  # noqa: ANN401 -- the user's own
        """Apply it."""
        begin = time.perf_counter_ns()
        try:
            return self.inner(*args, **keywords)
        finally:
            Spent.transform += time.perf_counter_ns() - begin


class TimedCollate:
    """Makes a batch of samples."""

    def __init__(self, inner: Callable[[Any], Any]) -> None:
        self.inner = inner

    def __call__(self, samples: Any) -> TimedBatch:  # noqa: ANN401 -- the user's own
        """Collate, and hand over what the batch cost."""
        begin = time.perf_counter_ns()
        batch = self.inner(samples)
        collate = time.perf_counter_ns() - begin
        timed = TimedBatch(batch, Spent.fetch, Spent.transform, collate)
        Spent.fetch = Spent.transform = 0
        return timed


def _time_transform(dataset: Any) -> None:  # noqa: ANN401 -- the user's own
    transform = getattr(dataset, "transform", None)
    if callable(transform) and not isinstance(transform, TimedTransform):
        dataset.transform = TimedTransform(transform)


def restore_transform(dataset: Any) -> None:  # noqa: ANN401 -- the user's own
    """Give a dataset its own transform back."""
    transform = getattr(dataset, "transform", None)
    if isinstance(transform, TimedTransform):
        dataset.transform = transform.inner


def private_bytes() -> int:
    """Memory that this process shares with no other, bytes; -1 where the system does not tell."""
    now = time.perf_counter_ns()
    if now - Spent.memory_read < MEMORY_EVERY_NS and Spent.private >= 0:
        return Spent.private
    Spent.memory_read = now
    found = read_process(os.getpid(), is_worker=True)
    Spent.private = -1 if found is None or found.unique is None else found.unique
    Spent.resident = -1 if found is None else found.resident
    return Spent.private
