"""Whether a result may be trusted: what speaks against it, as values."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from boundby.bench.devices import SLOWED, DeviceReading
from boundby.bench.result import Clock, Work
from boundby.bench.sampling import FEWEST_SAMPLES
from boundby.bench.warmup import FEWEST_CALLS, WarmUp
from boundby.bench.work import is_impossible
from boundby.read.recording import Quality
from boundby.statistics import drift

WIDE = 0.10
"""torch.utils.benchmark warns above an interquartile range of 10% of the median, as we do."""
DRIFTED = 0.05
"""Slow clocks and heat move medians by more than this within seconds; noise of ten samples less."""
CLOCK_FELL = 0.05
SKEWED = 0.05
"""Where mean and median part by more, the mean tells of the rare slow call."""
LAUNCH_BOUND = 0.9


@dataclass(frozen=True)
class Observed:
    """What was seen of a measurement.

    Attributes:
        clocks: By name; a clock without samples is absent.
        warm_up: Before it.
        work: Of a call.
        before, after: Readings of the device; None where there are none.
        is_unused: Whether nothing leaves the call.
        shapes: What varies from call to call.
    """

    clocks: dict[str, Clock]
    warm_up: WarmUp
    work: Work
    before: DeviceReading | None = None
    after: DeviceReading | None = None
    is_unused: bool = False
    shapes: tuple[Quality, ...] = ()


def examine(seen: Observed) -> tuple[Quality, ...]:
    """Everything that speaks against a measurement, the worst first."""
    found = [*_impossible(seen), *_statistics(seen), *_device(seen), *_caller(seen), *seen.shapes]
    order = ("fatal", "warning", "info")
    return tuple(sorted(found, key=lambda each: order.index(each.severity)))


def _impossible(seen: Observed) -> Iterator[Quality]:
    for name in ("wall", "device"):
        clock = seen.clocks.get(name)
        if clock is not None and is_impossible(clock.summary.median, seen.work):
            yield above_roofline(name, clock.summary.median, seen.work)


def above_roofline(name: str, ns: float, work: Work) -> Quality:
    """A time that the roofline forbids."""
    floor = (work.floor_ns or 0.0) / 1e6
    return Quality(
        "above-roofline",
        "fatal",
        1,
        f"{name} time of {ns / 1e6:.3g} ms is impossible: the counted work takes at least "
        f"{floor:.3g} ms on {work.roofs}; the clock was not synchronised, or the work was dropped",
    )


def _statistics(seen: Observed) -> Iterator[Quality]:
    if not seen.warm_up.is_steady:
        yield Quality("not-steady", "warning", seen.warm_up.calls, unsteady(seen.warm_up))
    for name, clock in seen.clocks.items():
        if name == "submit":
            continue
        figures = clock.summary
        if figures.n < FEWEST_SAMPLES:
            count = f"{figures.n} sample" if figures.n == 1 else f"{figures.n} samples"
            yield Quality("few-samples", "warning", figures.n, f"{name}: {count}")
        if figures.spread > WIDE:
            yield Quality(
                "wide-spread",
                "warning",
                figures.n,
                f"{name}: interquartile range is {figures.spread:.0%} of the median",
            )
        moved = drift(clock.ns)
        if abs(moved) > DRIFTED and abs(moved) > figures.spread:
            yield Quality(
                "drift",
                "warning",
                figures.n,
                f"{name}: the last fifth of the samples is {moved:+.0%} against the first",
            )


def unsteady(warm: WarmUp) -> str:
    """Why a warm-up that ended before calls were steady is told."""
    calls = "1 call" if warm.calls == 1 else f"{warm.calls} calls"
    if warm.calls <= FEWEST_CALLS:
        return f"the warm-up had time for {calls}: whether later ones are faster is unknown"
    return f"calls were still getting faster after {warm.calls} of them"


def _device(seen: Observed) -> Iterator[Quality]:
    before, after = seen.before, seen.after
    if before is None or after is None:
        return
    if after.sm_mhz < (1 - CLOCK_FELL) * before.sm_mhz:
        yield Quality(
            "clocks-fell",
            "warning",
            1,
            f"the SM clock fell from {before.sm_mhz} to {after.sm_mhz} MHz at {after.celsius} C",
        )
    elif after.throttle & SLOWED:
        yield Quality("clocks-fell", "warning", 1, "the driver holds clocks down: heat or power")
    if after.others:
        yield Quality(
            "shared-device", "warning", after.others, "another process uses the device as well"
        )


def _caller(seen: Observed) -> Iterator[Quality]:
    if seen.is_unused or seen.work.launches == 0:
        why = "nothing leaves the call" if seen.is_unused else "the call starts no device work"
        yield Quality(
            "unused-output", "warning", 1, f"{why}: the work may have been dropped as dead code"
        )
