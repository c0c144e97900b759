"""Batches on the device: one that stays there, or those of the workload's loader."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from boundby.bench.framework import map_tensors, tensors_in, torch
from boundby.errors import UsageError
from boundby.experiment.build import Build
from boundby.experiment.given import batch_of, loader_of, refused


def feed(build: Build, seed: int) -> Iterator[Any]:
    """Batches without end."""
    torch().manual_seed(seed)
    if hasattr(build.workload, "loader"):
        loader = loader_of(build.workload, build.size, **build.loader)
        build.workers = getattr(loader, "num_workers", 0)
        batches = _epochs(loader, build.size)
        copied = (_to(batch, build.device, ahead=build.prefetch) for batch in batches)
        return _ahead(batches, build.device) if _can_prefetch(build) else copied
    batch = _to(batch_of(build.workload, build.size), build.device, ahead=False)
    return _same(batch)


def _can_prefetch(build: Build) -> bool:
    return build.prefetch and build.device == "cuda"


def _same(batch: Any) -> Iterator[Any]:  # noqa: ANN401 -- any nested value
    while True:
        yield batch


def _epochs(loader: Any, size: int) -> Iterator[Any]:  # noqa: ANN401 -- a DataLoader
    """Epoch after epoch, without what is left over at the end of each: a step counts as whole."""
    first: list[int] | None = None
    while True:
        empty = True
        for batch in loader:
            if batch is None:
                raise refused("loader", "None", "no batch")
            empty = False
            leading = [len(each) if each.dim() else 0 for each in tensors_in(batch)]
            first = leading if first is None else first
            if not _is_left_over(leading, first, size):
                yield batch
        if empty:
            raise UsageError("loader() gave no batch", "give it more samples than a batch holds")


def _is_left_over(leading: list[int], first: list[int], size: int) -> bool:
    """Whether fewer samples lie in a batch than in the first one, which held as many as asked."""
    pairs = zip(leading, first, strict=False)
    return any(was == size and now < size for now, was in pairs)


def _to(batch: Any, device: str, *, ahead: bool) -> Any:  # noqa: ANN401 -- any nested value
    return map_tensors(lambda tensor: tensor.to(device, non_blocking=ahead), batch)


def _ahead(batches: Iterator[Any], device: str) -> Iterator[Any]:
    """Each batch is copied on a stream of its own while the step before it runs."""
    cuda = torch().cuda
    stream = cuda.Stream()

    def load() -> Any:  # noqa: ANN401 -- any nested value
        with cuda.stream(stream):
            return _to(next(batches), device, ahead=True)

    following = load()
    while True:
        cuda.current_stream().wait_stream(stream)
        batch = following
        map_tensors(lambda tensor: tensor.record_stream(cuda.current_stream()), batch)
        following = load()
        yield batch
