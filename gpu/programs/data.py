"""Programs that wait for data: loaders, and copies to the device."""
# ruff: noqa: TID253 (torch is what is measured)

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import torch
from programs.parts import DEVICE, SGD, labels, mlp, normal
from programs.program import Program, Step
from torch import Tensor
from torch.nn import functional
from torch.utils.data import DataLoader, IterableDataset

Sample = np.ndarray[Any, Any]


class Endless(IterableDataset[Sample]):
    """Samples without end."""

    def __iter__(self) -> Iterator[Sample]:
        sample = np.random.default_rng(0).standard_normal(256, dtype=np.float32)
        return itertools.repeat(sample)


def augmented(row: Sample) -> Sample:
    """Numpy work of about 25 us."""
    return np.sort(np.fft.rfft(np.tile(row, 8)).real)[:256].astype(np.float32)


def collated(rows: list[Sample], passes: int) -> Tensor:
    """Augment some times and stack."""
    for _ in range(passes):
        rows = [augmented(row) for row in rows]
    return torch.from_numpy(np.stack(rows))


def loaded(*, workers: int = 0, passes: int = 3, batch: int = 64, cached: bool = False) -> Step:
    """A small network trains on what a loader brings, or on one batch kept on the device."""
    model = mlp(256, 6, classes=10)
    optimizer = SGD(model.parameters())
    y = labels(batch)
    loader = DataLoader(
        Endless(),
        batch,
        num_workers=workers,
        collate_fn=partial(collated, passes=passes),
        multiprocessing_context="fork" if workers else None,
    )
    arriving = iter(loader)
    kept = next(arriving).to(DEVICE)

    def step() -> None:
        x = kept if cached else next(arriving).to(DEVICE)
        optimizer.zero_grad()
        functional.cross_entropy(model(x), y).backward()
        optimizer.step()

    return step


def on_host(*, pinned: bool) -> Tensor:
    """64 MB of random data in host memory."""
    x = torch.randn(4096, 4096)
    return x.pin_memory() if pinned else x


def consumer(rounds: int) -> Callable[[Tensor], Tensor]:
    """Makes the work that is done on every batch."""
    weight = normal(4096, 4096, dtype=torch.bfloat16)

    def work(x: Tensor) -> Tensor:
        y = x.bfloat16()
        for _ in range(rounds):
            y = y @ weight * 0.02
        return y

    return work


def copied(*, pinned: bool = False, cached: bool = False, rounds: int = 3) -> Step:
    """64 MB are copied to the device every step, then used."""
    host, work = on_host(pinned=pinned), consumer(rounds)
    kept = host.to(DEVICE)

    def step() -> object:
        x = kept if cached else host.to(DEVICE, non_blocking=pinned)
        return work(x)

    return step


def prefetched(*, pinned: bool = True, rounds: int = 3) -> Step:
    """The same, with the next 64 MB copied on a stream of their own meanwhile."""
    host, work = on_host(pinned=pinned), consumer(rounds)
    copies = torch.cuda.Stream()
    ahead: list[Tensor] = []

    def fetch() -> None:
        with torch.cuda.stream(copies):
            ahead.append(host.to(DEVICE, non_blocking=True))

    fetch()

    def step() -> object:
        current = torch.cuda.current_stream()
        current.wait_stream(copies)
        x = ahead.pop()
        x.record_stream(current)
        fetch()
        return work(x)

    return step


def copied_or_prefetched(*, overlapped: bool = False, **arguments: Any) -> Step:  # noqa: ANN401
    """Copies in line with the work, or beside it."""
    return prefetched(**arguments) if overlapped else copied(**arguments)


OVERLAPPED = {"overlapped": True, "pinned": True}

TABLE = (
    Program(
        "data_loader_in_process",
        loaded,
        {},
        {"no_data": {"cached": True}},
        cause="data-loading",
    ),
    Program(
        "data_loader_two_workers",
        loaded,
        {"workers": 2, "passes": 10},
        {"no_data": {"cached": True, "workers": 0}},
        cause="data-loading",
    ),
    Program(
        "data_pageable_64mb",
        copied_or_prefetched,
        {},
        {"pinned": {"pinned": True}, "no_data": {"cached": True}, "overlap_copies": OVERLAPPED},
        cause="host-copy",
        stack=True,
    ),
    Program(
        "data_pinned_64mb",
        copied_or_prefetched,
        {"pinned": True, "rounds": 6},
        {"no_data": {"cached": True}, "overlap_copies": OVERLAPPED},
        cause="host-copy",
    ),
)
