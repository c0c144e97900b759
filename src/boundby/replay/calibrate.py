"""From the observed program to the clean one, by a prior or by a clean measurement."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Literal

import numpy as np

from boundby.frozen import frozen
from boundby.intervals import Ints
from boundby.replay.edits import (
    COMPUTED_HOST,
    device_only,
    no_overhead,
    no_sync_of,
    scaled_device,
    scaled_host,
    scaled_kinds,
)
from boundby.replay.observer import (
    DEVICE_RANGE,
    MODEL,
    HostPrior,
    host_prior,
    leaning,
    without_frame_cost,
)
from boundby.replay.program import Program
from boundby.replay.steptime import steady_ns, submit_ns
from boundby.replay.values import Calibration, Estimate
from boundby.timeline.hostline import LineKind
from boundby.timeline.loaders import in_process
from boundby.timeline.timeline import Timeline
from boundby.units import NS_PER_MS, ms

WAITS = (LineKind.LOADER, LineKind.SYNC, LineKind.ALLOCATOR)
"""Host time the observer does not inflate; only a residual to a measured step may touch it."""
LOADER_RANGE = (0.90, 1.25)
"""Loader time of a clean run over the recorded: workers compete with the profiler for cores, and
a short window catches batches that were loaded ahead (measured 0.95 to 1.2)."""
TOLERANCE = (0.98, 1.02)
"""Range of a measured step over what was measured."""
MEASURED_RANGE = (0.85, 1.15)
"""Host times drift by 10 to 20% within minutes of one machine."""
CLOSE = 0.01
"""A prior that already meets the measured step this closely is left alone."""
CLOCK_DRIFT = (0.94, 1.06)
"""What device clocks usually explain."""
NOT_MET = 0.03
"""A told step that no explanation meets this closely does not belong to the recording."""
DEVICE_LIMIT = (0.8, 1.25)
"""Device clocks explain no more than this between a recording and a clean run."""
CAPPED = (CLOCK_DRIFT[0], DEVICE_LIMIT[1])
"""A power cap lowers the clocks in steps on end, and not in the few of a profiler's window."""
HOST_LIMIT = (0.02, 4.0)
"""Search range for the host scale."""
HALVINGS = 24


MeasuredBy = Literal["step-ms", "clean-pass"]
"""Who measured the step: the user, or a clean pass of the same run."""


@frozen
class Known:
    """What else is known where a step was measured.

    Attributes:
        submission: Whether the time to submit a step was measured too.
        loads_itself: Whether the training process loads its batches.
    """

    submission: bool
    loads_itself: bool


@frozen
class Calibrated:
    """The program without its observer, and the two that bound it.

    Attributes:
        clean: Best estimate.
        low, high: Fast and slow end of host and device range.
        step: ``unprofiled_ms``.
    """

    clean: Program
    low: Program
    high: Program
    step: Estimate
    calibration: Calibration

    def misses(self, step_ms: float) -> float:
        """How far the replay stays from a told step, relative; 0 where it meets it."""
        miss = abs(self.step.estimate / step_ms - 1)
        return miss if miss > NOT_MET else 0.0

    def saved_without_waits(self, calls: Ints) -> float:
        """What the clean step would save, ms, without the waits of these host rows."""
        return max(self.step.estimate - ms(steady_ns(no_sync_of(self.clean, calls))), 0.0)


MOST_POINTS = 8_000
"""Points of the steps that stand for a long recording when what-ifs are asked."""


def calibrate(
    timeline: Timeline,
    observed: Program,
    step_ms: float | None = None,
    submit_ms: float | None = None,
    source: MeasuredBy = "step-ms",
) -> Calibrated:
    """Subtract the observer; on long recordings from the middle steps.

    Args:
        step_ms: Step time measured without a profiler, if known.
        submit_ms: Host time to submit one step without waiting, if known.
        source: Who measured ``step_ms``.
    """
    whole = without_frame_cost(timeline, no_overhead(observed))
    prior = host_prior(timeline, whole)
    quiet = leaning(whole).middle(MOST_POINTS)
    if submit_ms is not None:
        prior = _prior_from_submit(quiet, prior, submit_ms)
    if step_ms is None:
        found = _from_prior(quiet, prior)
    else:
        known = Known(submit_ms is not None, in_process(timeline.recording.names) is True)
        found = _from_measurement(quiet, prior, step_ms, known)
        found = replace(found, calibration=replace(found.calibration, source=source))
    recorded = _computed(observed.middle(MOST_POINTS))
    scale = _computed(found.clean) / recorded if recorded else None
    clocks = _clocks(found.clean, quiet)
    factors = replace(found.calibration, host_scale=scale, device_scale=clocks)
    return replace(found, calibration=factors)


def measured_step(step_ms: float, source: MeasuredBy) -> tuple[Estimate, Calibration]:
    """A measured step and who measured it, where nothing can be replayed to meet it."""
    low, high = (step_ms * end for end in TOLERANCE)
    return Estimate(step_ms, low, high), Calibration(source, MODEL, None)


def _clocks(clean: Program, quiet: Program) -> float:
    """How much longer the device works at the clocks of the clean run."""
    before = int(quiet.work.dur.sum())
    return int(clean.work.dur.sum()) / before if before else 1.0


def _computed(program: Program) -> int:
    """Ns of the host line that the profiler lengthens."""
    return int(program.host_ns[list(COMPUTED_HOST)].sum())


def _from_prior(quiet: Program, prior: HostPrior) -> Calibrated:
    def at(host: float, device: float, loader: float) -> Program:
        scaled = scaled_device(scaled_host(quiet, host), device)
        return scaled_kinds(scaled, (LineKind.LOADER,), loader)

    programs = (
        at(prior.scale, 1.0, 1.0),
        at(prior.low, DEVICE_RANGE[0], LOADER_RANGE[0]),
        at(prior.high, DEVICE_RANGE[1], LOADER_RANGE[1]),
    )
    times = [ms(steady_ns(p)) for p in programs]
    return Calibrated(
        *programs,
        step=Estimate(times[0], min(times), max(times)),
        calibration=Calibration("prior", MODEL, None),
    )


def _prior_from_submit(quiet: Program, prior: HostPrior, submit_ms: float) -> HostPrior:
    """The host scale at which one step, from an empty queue, returns after ``submit_ms``.

    Kept as it was where the host mostly waits: then the time to return says nothing about it.
    """
    target = submit_ms * NS_PER_MS
    waiting = submit_ns(scaled_host(quiet, 0.0))
    if waiting >= LEADS * target:
        return prior
    scale = _solve(lambda s: submit_ns(scaled_host(quiet, s)), target, HOST_LIMIT)
    return HostPrior(scale, scale * MEASURED_RANGE[0], scale * MEASURED_RANGE[1])


def _from_measurement(quiet: Program, prior: HostPrior, step_ms: float, known: Known) -> Calibrated:
    """Meet a measured step: first the host inside its range, then what is left to explain."""
    target = step_ms * NS_PER_MS
    clean = _meet(quiet, prior, target, known)
    low = scaled_device(scaled_host(clean, MEASURED_RANGE[0]), DEVICE_RANGE[0])
    high = scaled_device(scaled_host(clean, MEASURED_RANGE[1]), DEVICE_RANGE[1])
    reached = ms(steady_ns(clean))
    return Calibrated(
        clean,
        low,
        high,
        step=Estimate(
            reached, min(reached, step_ms) * TOLERANCE[0], max(reached, step_ms) * TOLERANCE[1]
        ),
        calibration=Calibration("step-ms", MODEL, None),
    )


def _meet(quiet: Program, prior: HostPrior, target: float, known: Known) -> Program:
    """The program that takes ``target`` ns a step.

    What does not meet it is put on the kind of time that leads the step: waits if they do (a
    loader is slower or faster without a profiler beside it; where it runs in the same process, so
    is the rest of the host), the host inside its range, the device if it leads (clocks), and at
    last the host beyond its range.
    """
    expected = scaled_host(quiet, prior.scale)
    now = steady_ns(expected)
    if abs(now / target - 1) <= CLOSE:
        return expected
    if _waiting(expected) >= LEADS * now:
        scaled = _scaled_with_host if known.loads_itself else _scaled_waits
        factor = _solve(lambda f: steady_ns(scaled(expected, f)), target, HOST_LIMIT)
        return scaled(expected, factor)
    ends = steady_ns(scaled_host(quiet, prior.low)), steady_ns(scaled_host(quiet, prior.high))
    if ends[0] <= target <= ends[1]:
        scale = _solve(lambda s: steady_ns(scaled_host(quiet, s)), target, (prior.low, prior.high))
        return scaled_host(quiet, scale)
    return _beyond_host_range(quiet, prior, target, known)


def _waiting(program: Program) -> float:
    """Ns a step of host time that the profiler leaves alone, wake-ups included."""
    wakes = np.maximum(program.points.wake, 0).sum()
    return float(program.host_ns[list(WAITS)].sum() + wakes) / program.steps


def _scaled_waits(program: Program, factor: float) -> Program:
    scaled = scaled_kinds(program, WAITS, factor)
    wake = scaled.points.wake
    longer = np.where(wake > 0, np.rint(wake * factor).astype(np.int64), wake)
    return replace(scaled, points=replace(scaled.points, wake=longer))


def _scaled_with_host(program: Program, factor: float) -> Program:
    """Waits by ``factor``, and the host by its root: how much of it is common is not known."""
    return _scaled_waits(scaled_host(program, factor**0.5), factor)


def _beyond_host_range(quiet: Program, prior: HostPrior, target: float, known: Known) -> Program:
    """The first explanation that meets the step, else the one that comes closest.

    Device clocks explain a little, a host beyond its range more, and clocks at their limit last.
    Where the submission was measured, it says how fast the host is: then lower clocks come before
    another host.
    """
    edge = scaled_host(quiet, prior.scale)

    def by_device(limits: tuple[float, float]) -> Program:
        factor = _solve(lambda f: steady_ns(scaled_device(edge, f)), target, limits)
        return scaled_device(edge, factor)

    def by_host() -> Program:
        scale = _solve(lambda s: steady_ns(scaled_host(quiet, s)), target, HOST_LIMIT)
        return scaled_host(quiet, scale)

    is_devices = steady_ns(device_only(quiet)) >= LEADS * steady_ns(edge)
    first = by_device(CLOCK_DRIFT) if is_devices else edge
    capped = [by_device(CAPPED)] if known.submission and is_devices else []
    candidates = [first, *capped, by_host(), by_device(DEVICE_LIMIT)]
    missed = [abs(steady_ns(program) / target - 1) for program in candidates]
    met = next((i for i, miss in enumerate(missed) if miss <= CLOSE), int(np.argmin(missed)))
    return candidates[met]


LEADS = 0.5
"""Share of the step from which one kind of time leads it."""


def _solve(function: Callable[[float], float], target: float, bounds: tuple[float, float]) -> float:
    """Where a rising function meets ``target``, by bisection; the nearer bound if it does not."""
    low, high = bounds
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        if function(middle) < target:
            low = middle
        else:
            high = middle
    return (low + high) / 2
