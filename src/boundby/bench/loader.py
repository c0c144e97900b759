"""A data loader without the model: speed, stages, workers, memory, and what other settings give."""

from __future__ import annotations

import gc
import os
import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from boundby.bench.correctness import USERS_ERRORS
from boundby.bench.framework import has_cuda, torch_module
from boundby.bench.loader_batches import Seen, busy, growth, readings, seen, stages
from boundby.bench.loader_values import FEWEST_BATCHES, LoaderResult, Pass, Settings
from boundby.bench.stall import ended_when_stalled
from boundby.bench.targets import said_by
from boundby.errors import CannotTellError
from boundby.memory.host import Loading, host_use, pinned_bytes
from boundby.memory.processes import host_memory
from boundby.units import NS_PER_S

BUDGET_S = 20.0
MOST_BATCHES = 500
LONGEST = 2
"""A pass of slow batches ends after so many times its part, with fewer batches than it should."""
PATIENCE = 5
LEAST_PATIENCE_S = 60.0
"""Without a batch for so many times the budget, and so long, a loader hangs: a first batch that
takes a minute is slow."""


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
        budget_s: Seconds for all passes together; each pass gets its part. A pass goes on to its
            second batch in any case, and settings for which no time is left are not tried.
        sweep: Whether to try other settings.

    Raises:
        CannotTellError: It cannot be iterated, gives no batch, or hangs.
    """
    if not hasattr(loader, "__iter__") and not hasattr(loader, "__getitem__"):
        raise CannotTellError(
            f"no loader was made but {type(loader).__name__}", "return the DataLoader"
        )
    others = candidates(settings_of(loader)) if is_plain(loader) and sweep else []
    part = budget_s / (len(others) + 2)
    ends = time.monotonic() + budget_s
    patience = max(PATIENCE * budget_s, LEAST_PATIENCE_S)
    measured = run_pass(loader, part, patience_s=patience)
    if not measured.first_ns:
        raise CannotTellError(
            "the loader gave no batch",
            "is its data set empty, or smaller than a batch with drop_last?",
        )
    again = run_pass(loader, 0.0, fewest=0, patience_s=patience)
    passes, untried = _sweep(loader, others, part, ends, patience)
    holds = _loading(loader, measured)
    pinned = pinned_bytes(measured.batch_bytes, holds.prefetch, holds.workers) if holds.pins else 0
    return LoaderResult(
        measured,
        again.first_ns or None,
        passes,
        step_ms,
        pinned,
        (*_notes(loader, measured, again), *untried),
        host_use(measured.readings, host_memory(), holds),
    )


def is_plain(loader: Any) -> bool:  # noqa: ANN401 -- a DataLoader or the like
    """Whether it is a DataLoader that torch iterates: one that can be built again as it is."""
    kind = torch_module("utils.data").DataLoader
    return isinstance(loader, kind) and type(loader).__iter__ is kind.__iter__


def _sweep(
    loader: Any,  # noqa: ANN401 -- a DataLoader
    others: list[Settings],
    part_s: float,
    ends: float,
    patience_s: float,
) -> tuple[tuple[Pass, ...], list[str]]:
    """Passes with other settings while there is time, and a note on each that has none.

    Args:
        part_s: Seconds a pass.
        ends: When all must be done, on the monotonic clock.
        patience_s: As of ``run_pass``.
    """
    found, notes, late = [], [], []
    for settings in others:
        if time.monotonic() >= ends:
            late.append(settings.text)
            continue
        try:
            found.append(run_pass(rebuilt(loader, settings), part_s, patience_s=patience_s))
        except CannotTellError as error:
            notes.append(f"{settings.text} was not measured: {error.message}")
        except (*USERS_ERRORS, OSError) as error:
            notes.append(f"{settings.text} was not measured: {said_by(error)}")
        gc.collect()  # an iterator that failed must not be ended by a worker of the next
    if late:
        notes.append(f"no time was left for {'; '.join(late)}: --budget gives more")
    short = [each.settings.text for each in found if each.is_short]
    if short:
        notes.append(f"few batches in the time, with {'; '.join(short)}: --budget gives more")
    return tuple(found), notes


def _notes(loader: Any, measured: Pass, again: Pass) -> Iterator[str]:  # noqa: ANN401 -- likewise
    """How far the figures of the loader itself reach."""
    if not isinstance(loader, torch_module("utils.data").DataLoader):
        yield "no DataLoader: stages, workers and the sweep are unknown"
    elif not is_plain(loader):
        yield (
            f"{type(loader).__name__} iterates in its own way: stages, workers and the sweep are "
            "unknown"
        )
    if not again.first_ns:
        yield "a second pass gave no batch: it can be iterated once"
    if measured.settings.pin and not _pins(measured.settings):
        yield "pin_memory=True does nothing here: there is no device"
    if measured.is_short:
        later = len(measured.batch_ns)
        batches = "1 batch" if later == 1 else f"{later} batches"
        yield f"only {batches} came after the first in the time: --budget gives more"


def _pins(settings: Settings) -> bool:
    """Whether batches are page-locked: only where there is a device to copy to."""
    return settings.pin and has_cuda()


def _loading(loader: Any, measured: Pass) -> Loading:  # noqa: ANN401 -- a DataLoader or the like
    """What the loader holds on the host."""
    try:
        samples: int | None = len(loader.dataset)
    except (AttributeError, TypeError, NotImplementedError):
        samples = None
    settings, batches = measured.settings, len(measured.batch_ns)
    return Loading(
        batch=measured.batch_bytes or None,
        workers=settings.workers,
        prefetch=settings.prefetch or 0,
        pins=_pins(settings),
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


def run_pass(
    loader: Any,  # noqa: ANN401 -- a DataLoader or the like
    budget_s: float,
    *,
    fewest: int = FEWEST_BATCHES,
    patience_s: float = LEAST_PATIENCE_S,
) -> Pass:
    """One pass over a loader, stopped when its time is up.

    Args:
        fewest: Batches to take after the first, where that costs at most twice the time.
        patience_s: How long to wait for a batch, and at most twice as long.

    Raises:
        CannotTellError: No batch came for so long.
    """
    settings = settings_of(loader)
    plain = is_plain(loader)
    timed = _timed(loader, settings) if plain else loader
    try:
        kept: list[Seen] = []
        with ended_when_stalled(lambda: len(kept), patience_s):
            return _take(
                timed, settings, budget_s, kept, fewest=fewest, one_a_batch=_is_unbatched(loader)
            )
    finally:
        if plain:
            from boundby.bench.loader_probe import restore_transform  # noqa: PLC0415 -- loads torch

            restore_transform(loader.dataset)


def _is_unbatched(loader: Any) -> bool:  # noqa: ANN401 -- a DataLoader or the like
    """Whether each item is one sample of the data set, whatever its tensors look like."""
    kind = torch_module("utils.data")
    if not isinstance(loader, kind.DataLoader) or loader.batch_sampler is not None:
        return False
    by_index = not isinstance(loader.dataset, kind.IterableDataset)
    return by_index and not isinstance(loader.sampler, kind.BatchSampler)


def _timed(loader: Any, settings: Settings) -> Any:  # noqa: ANN401 -- DataLoaders
    from boundby.bench import loader_probe  # noqa: PLC0415 -- loads torch

    timed = rebuilt(loader, replace(settings, persistent=False))
    iterable = isinstance(loader.dataset, torch_module("utils.data").IterableDataset)
    wrap = loader_probe.TimedStream if iterable else loader_probe.TimedDataset
    object.__setattr__(timed, "dataset", wrap(loader.dataset))
    object.__setattr__(timed, "collate_fn", loader_probe.TimedCollate(loader.collate_fn))
    return timed


def _take(
    loader: Any,  # noqa: ANN401 -- a DataLoader or the like
    settings: Settings,
    budget_s: float,
    kept: list[Seen],
    *,
    fewest: int,
    one_a_batch: bool,
) -> Pass:
    """Batches as fast as they come, without what reading the memory cost; each goes to ``kept``."""
    begin = time.perf_counter_ns()
    waits: list[float] = []
    is_whole = True
    last = begin
    round_ = max(settings.workers, 1)
    batches = iter(loader)
    for batch in batches:
        now = time.perf_counter_ns()
        kept.append(seen(batch, now, one_a_batch=one_a_batch))
        waits.append(max(float(now - last) - _observed(kept), 1.0))
        last = time.perf_counter_ns()
        over = (last - begin) / NS_PER_S / max(budget_s, 1e-9)
        if (len(waits) - round_) % round_ == 0 and _is_enough(len(waits) - round_, over, fewest):
            is_whole = False
            break
    del batches  # ends the workers
    return _pass(settings, kept, waits, is_whole=is_whole)


def _is_enough(later: int, over: float, fewest: int) -> bool:
    """Whether to stop a pass after so many later batches and so many times its time."""
    if later >= MOST_BATCHES:
        return True
    if later >= fewest:
        return over > 1
    return later > 0 and over > LONGEST


def _observed(kept: list[Seen]) -> float:
    """Time of the last batch that went into reading the memory while the loop waited, ns.

    In this process that is all of it; of workers only the first reading is waited for.
    """
    last = kept[-1]
    is_waited_for = last.pid == os.getpid() or len(kept) == 1
    return float(last.observed) if is_waited_for else 0.0


def _pass(settings: Settings, kept: list[Seen], waits: list[float], *, is_whole: bool) -> Pass:
    start = max(settings.workers, 1)
    start = start if len(waits) > start else 1
    later = tuple(waits[start:])
    sizes = [each.samples for each in kept[start:]]
    memory = [each.private for each in kept if each.private >= 0]
    span = float(sum(later))
    return Pass(
        settings=settings,
        first_ns=waits[0] if waits else 0.0,
        batch_ns=later,
        span_ns=span,
        samples=None if None in sizes else sum(size for size in sizes if size is not None),
        stages=stages(kept),
        worker_busy=busy(kept[start:], span, settings.workers),
        private_bytes=max(memory, default=None),
        growth_bytes=growth(kept),
        batch_bytes=max((each.size_bytes for each in kept), default=0),
        is_whole=is_whole,
        readings=tuple(readings(kept)),
    )
