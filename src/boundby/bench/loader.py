"""A data loader without the model: speed, stages, workers, memory, and what other settings give."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from statistics import median
from typing import Any, Literal

from boundby.bench.framework import has_cuda, tensors_in, torch_module
from boundby.errors import CannotTellError
from boundby.memory.host import HostUse, Loading, host_use
from boundby.memory.processes import Sample, host_memory
from boundby.statistics import Summary, summarize
from boundby.units import NS_PER_MS, NS_PER_S

BUDGET_S = 20.0
FEWEST_BATCHES = 5
MOST_BATCHES = 500
MARGIN = 0.05
"""A loader this much faster than the step keeps up with it; nearer, its own scatter decides."""


@dataclass(frozen=True)
class Settings:
    """What a loader can be given; ``prefetch`` is None without workers."""

    workers: int
    prefetch: int | None
    pin: bool
    persistent: bool

    @property
    def text(self) -> str:
        """As a reader would write it."""
        parts = [f"num_workers={self.workers}"]
        parts += [f"prefetch_factor={self.prefetch}"] if self.workers else []
        parts += ["pin_memory=True"] if self.pin else []
        parts += ["persistent_workers=True"] if self.persistent else []
        return ", ".join(parts)


@dataclass(frozen=True)
class Stages:
    """Median ns a batch; None where it does not happen or is unknown. ``transform`` is its own."""

    fetch: float
    transform: float | None
    collate: float
    pin: float | None


@dataclass(frozen=True)
class Pass:
    """One measured pass, with batches taken as fast as they come.

    Attributes:
        settings: Of the loader.
        first_ns: From ``iter`` to the first batch, workers and all.
        batch_ns: Every later batch, as the loop waits for it.
        span_ns: All later batches together.
        samples: In the later batches; None where a batch does not show its size.
        stages: What a batch costs where it is made.
        worker_busy: Share of their time in which workers made batches; None without workers.
        private_bytes: Memory of a worker's own at the end, the largest; None where unknown.
        growth_bytes: By how much that grew during the pass.
        batch_bytes: Of the tensors of a batch.
        is_whole: Whether the pass came to its end.
        readings: Memory of the processes that make batches, where it changed.
    """

    settings: Settings
    first_ns: float
    batch_ns: tuple[float, ...]
    span_ns: float
    samples: int | None
    stages: Stages | None
    worker_busy: float | None
    private_bytes: int | None
    growth_bytes: int | None
    batch_bytes: int
    is_whole: bool
    readings: tuple[Sample, ...] = ()

    @property
    def per_batch_ns(self) -> float:
        """Mean time a batch: what a loop that only loads sees."""
        return self.span_ns / len(self.batch_ns) if self.batch_ns else self.first_ns

    @property
    def samples_per_s(self) -> float | None:
        """Samples a second without the first batch."""
        return self.samples / self.span_ns * NS_PER_S if self.samples and self.span_ns else None

    @property
    def summary(self) -> Summary | None:
        """Of the waits for a batch, ns; None where there was one batch."""
        return summarize(self.batch_ns) if self.batch_ns else None


Answer = Literal["enough", "bottleneck", "near", "unknown"]


@dataclass(frozen=True)
class LoaderResult:
    """What a loader does and could do.

    Attributes:
        measured: With its own settings.
        restart_ns: First batch of a second pass: what each epoch pays again.
        sweep: With other settings, in the order in which they were tried.
        step_ms: Of the program; None where not given.
        pinned_bytes: Page-locked memory that the queue of batches holds when full.
        host: What the data and the workers take of the host's memory.
    """

    measured: Pass
    restart_ns: float
    sweep: tuple[Pass, ...]
    step_ms: float | None
    pinned_bytes: int
    notes: tuple[str, ...] = ()
    host: HostUse | None = None

    @property
    def answer(self) -> Answer:
        """Whether the loader keeps up with the step."""
        if self.step_ms is None:
            return "unknown"
        ratio = self.measured.per_batch_ns / (self.step_ms * NS_PER_MS)
        if abs(ratio - 1) < MARGIN:
            return "near"
        return "enough" if ratio < 1 else "bottleneck"

    @property
    def best(self) -> Pass:
        """The fastest pass; of those within 5% of it the one with the fewest workers."""
        every = [self.measured, *self.sweep]
        least = min(each.per_batch_ns for each in every)
        close = [each for each in every if each.per_batch_ns <= (1 + MARGIN) * least]
        return min(close, key=lambda each: (each.settings.workers, each.settings.prefetch or 0))


def measure_loader(
    loader: Any,  # noqa: ANN401 -- a torch DataLoader, or anything that can be iterated
    step_ms: float | None = None,
    budget_s: float = BUDGET_S,
    *,
    sweep: bool = True,
) -> LoaderResult:
    """Measure a loader, then others like it.

    Args:
        loader: A DataLoader; of anything else only the iteration is measured.
        step_ms: Step time of the program, to compare with.
        budget_s: Seconds for all passes together; each pass gets its part.
        sweep: Whether to try other settings.

    Raises:
        CannotTellError: It gives no batch.
    """
    is_loader = isinstance(loader, torch_module("utils.data").DataLoader)
    others = candidates(settings_of(loader)) if is_loader and sweep else []
    part = budget_s / (len(others) + 2)
    measured = run_pass(loader, part)
    if not measured.first_ns:
        raise CannotTellError(
            "the loader gave no batch",
            "is its data set empty, or smaller than a batch with drop_last?",
        )
    again = run_pass(loader, part / 2)
    passes = tuple(run_pass(rebuilt(loader, each), part) for each in others)
    notes = () if is_loader else ("no DataLoader: stages, workers and the sweep are unknown",)
    settings = measured.settings
    queued = (settings.prefetch or 1) * max(settings.workers, 1) if settings.pin else 0
    host = host_use(measured.readings, host_memory(), _loading(loader, measured))
    return LoaderResult(
        measured, again.first_ns, passes, step_ms, queued * measured.batch_bytes, notes, host
    )


def _loading(loader: Any, measured: Pass) -> Loading:  # noqa: ANN401 -- a DataLoader or the like
    """What the loader holds on the host."""
    try:
        samples: int | None = len(loader.dataset)
    except (AttributeError, TypeError):
        samples = None
    settings, batches = measured.settings, len(measured.batch_ns)
    return Loading(
        batch=measured.batch_bytes or None,
        workers=settings.workers,
        prefetch=settings.prefetch or 0,
        pins=settings.pin,
        samples=samples,
        in_batch=measured.samples // batches if measured.samples and batches else None,
    )


def settings_of(loader: Any) -> Settings:  # noqa: ANN401 -- a DataLoader or something like it
    """Settings that a loader has."""
    workers = int(getattr(loader, "num_workers", 0))
    return Settings(
        workers=workers,
        prefetch=getattr(loader, "prefetch_factor", None) if workers else None,
        pin=bool(getattr(loader, "pin_memory", False)),
        persistent=bool(getattr(loader, "persistent_workers", False)),
    )


def candidates(now: Settings, cpus: int | None = None) -> list[Settings]:
    """Settings worth a try: more workers by doubling, deeper prefetch, pinning, persistence."""
    cpus = cpus or _available_cpus()
    counts = [0, *(2**power for power in range(8) if 2**power <= cpus), cpus]
    pin = now.pin or has_cuda()
    found = [
        Settings(count, 2 if count else None, pin, persistent=count > 0)
        for count in dict.fromkeys(counts)
    ]
    found.append(Settings(max(cpus, 1), 4, pin, persistent=True))
    return [each for each in found if each != now]


def _available_cpus() -> int:
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity else os.cpu_count() or 1


def rebuilt(loader: Any, settings: Settings) -> Any:  # noqa: ANN401 -- DataLoaders
    """The same loader with other settings."""
    given: dict[str, Any] = {
        "num_workers": settings.workers,
        "pin_memory": settings.pin and has_cuda(),
        "collate_fn": loader.collate_fn,
        "timeout": loader.timeout,
        "worker_init_fn": loader.worker_init_fn,
        "generator": loader.generator,
    }
    if settings.workers:
        given["prefetch_factor"] = settings.prefetch
        given["persistent_workers"] = settings.persistent
        given["multiprocessing_context"] = loader.multiprocessing_context
    kind = torch_module("utils.data")
    if isinstance(loader.dataset, kind.IterableDataset) or loader.batch_sampler is None:
        given |= {"batch_size": loader.batch_size, "drop_last": loader.drop_last}
        if not isinstance(loader.dataset, kind.IterableDataset):
            given["sampler"] = loader.sampler
    else:
        given["batch_sampler"] = loader.batch_sampler
    return kind.DataLoader(loader.dataset, **given)


def run_pass(loader: Any, budget_s: float) -> Pass:  # noqa: ANN401 -- a DataLoader or the like
    """One pass over a loader, stopped when its time is up."""
    settings = settings_of(loader)
    is_loader = isinstance(loader, torch_module("utils.data").DataLoader)
    timed = _timed(loader, settings) if is_loader else loader
    try:
        return _take(timed, settings, budget_s)
    finally:
        if is_loader:
            from boundby.bench.loader_probe import restore_transform  # noqa: PLC0415 -- loads torch

            restore_transform(loader.dataset)


def _timed(loader: Any, settings: Settings) -> Any:  # noqa: ANN401 -- DataLoaders
    from boundby.bench import loader_probe  # noqa: PLC0415 -- loads torch

    timed = rebuilt(loader, replace(settings, persistent=False))
    iterable = isinstance(loader.dataset, torch_module("utils.data").IterableDataset)
    wrap = loader_probe.TimedStream if iterable else loader_probe.TimedDataset
    object.__setattr__(timed, "dataset", wrap(loader.dataset))
    object.__setattr__(timed, "collate_fn", loader_probe.TimedCollate(loader.collate_fn))
    return timed


def _take(loader: Any, settings: Settings, budget_s: float) -> Pass:  # noqa: ANN401
    begin = time.perf_counter_ns()
    batches = iter(loader)
    kept: list[Any] = []
    waits: list[float] = []
    is_whole = True
    last = begin
    for batch in batches:
        now = time.perf_counter_ns()
        waits.append(float(now - last))
        kept.append(_seen(batch, now))
        last = time.perf_counter_ns()
        enough = len(waits) > FEWEST_BATCHES and last - begin > budget_s * NS_PER_S
        if enough or len(waits) > MOST_BATCHES:
            is_whole = False
            break
    del batches  # ends the workers
    later = tuple(waits[1:])
    sizes = [each.samples for each in kept[1:]]
    memory = [each.private for each in kept if each.private >= 0]
    span = float(sum(later))
    return Pass(
        settings=settings,
        first_ns=waits[0] if waits else 0.0,
        batch_ns=later,
        span_ns=span,
        samples=None if None in sizes else sum(size for size in sizes if size is not None),
        stages=_stages(kept),
        worker_busy=_busy(kept[1:], span, settings.workers),
        private_bytes=max(memory, default=None),
        growth_bytes=_growth(kept),
        batch_bytes=max((each.size_bytes for each in kept), default=0),
        is_whole=is_whole,
        readings=tuple(_readings(kept)),
    )


@dataclass(frozen=True)
class _Seen:
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


def _seen(batch: Any, now: int) -> _Seen:  # noqa: ANN401 -- a batch, timed or not
    inner = getattr(batch, "batch", batch)
    tensors = tensors_in(inner)
    rows = [int(each.shape[0]) for each in tensors if each.dim()]
    size = sum(int(each.numel()) * int(each.element_size()) for each in tensors)
    samples = rows[0] if rows else None
    if not hasattr(batch, "fetch_ns"):
        return _Seen(samples, size, now)
    return _Seen(
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
    )


def _stages(kept: list[_Seen]) -> Stages | None:
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


def _busy(kept: list[_Seen], span: float, workers: int) -> float | None:
    """Work of the batches that came, over the time all workers had; at most 1."""
    known = [each.fetch + each.collate for each in kept if each.fetch >= 0]
    if not workers or not known or not span:
        return None
    return min(sum(known) / (span * workers), 1.0)


def _growth(kept: list[_Seen]) -> int | None:
    """Largest growth of a worker's own memory between its first and its last batch."""
    return max(_growths(kept), default=None)


def _growths(kept: list[_Seen]) -> Iterator[int]:
    for pid in {each.pid for each in kept if each.private >= 0}:
        own = [each.private for each in kept if each.pid == pid]
        yield own[-1] - own[0]


def _readings(kept: list[_Seen]) -> Iterator[Sample]:
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
