"""What is measured of a data loader: settings, one pass, and what they say together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from boundby.memory.host import HostUse
from boundby.memory.processes import Sample
from boundby.statistics import Summary, summarize
from boundby.units import NS_PER_MS, NS_PER_S

FEWEST_BATCHES = 5
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
        batch_ns: Every later batch, as the loop waits for it; of several workers without the first
            of each, which they made while the loop waited for the first of all.
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
    def is_short(self) -> bool:
        """Whether its time was up before there were enough batches to trust their mean."""
        return not self.is_whole and len(self.batch_ns) < FEWEST_BATCHES

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
        restart_ns: First batch of a second pass: what each epoch pays again; None where there was
            none, since it can be iterated once.
        sweep: With other settings, in the order in which they were tried.
        step_ms: Of the program; None where not given.
        pinned_bytes: Page-locked memory that the queue of batches holds when full.
        host: What the data and the workers take of the host's memory.
    """

    measured: Pass
    restart_ns: float | None
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
        ratio = self.steady_ns / (self.step_ms * NS_PER_MS)
        if abs(ratio - 1) < MARGIN:
            return "near"
        return "enough" if ratio < 1 else "bottleneck"

    @property
    def steady_ns(self) -> float:
        """Time a batch; of a loader of one batch that of its second pass."""
        if self.measured.batch_ns or self.restart_ns is None:
            return self.measured.per_batch_ns
        return self.restart_ns

    @property
    def best(self) -> Pass:
        """The fastest pass; of those within 5% of it the one with the fewest workers."""
        every = [self.measured, *self.sweep]
        least = min(each.per_batch_ns for each in every)
        close = [each for each in every if each.per_batch_ns <= (1 + MARGIN) * least]
        return min(close, key=lambda each: (each.settings.workers, each.settings.prefetch or 0))
