"""``check_timer``: what a piece of timing code misses, found by watching it at work."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from boundby.bench.machine import Machine, is_cuda, this_machine
from boundby.bench.result import Work
from boundby.bench.targets import refuse_lazy
from boundby.bench.trust import SKEWED, above_roofline
from boundby.bench.work import count_work, is_impossible
from boundby.errors import UsageError
from boundby.read.recording import Quality
from boundby.statistics import summarize
from boundby.units import NS_PER_S

RUNS = 5
PENDING = 0.1
"""Work left when the timer returns, as a share of what it reports; one wait is 1% of a ms."""
SLOWER_FIRST = 1.5
TWO = 2
CLOCKS = ("perf_counter", "perf_counter_ns", "time", "time_ns", "monotonic", "monotonic_ns")


@dataclass(frozen=True)
class TimerCheck:
    """What a timer reported, and what it missed.

    Attributes:
        reported: Seconds, one a run.
        pending_ns: Device work that was left when it returned, the median run.
        work: Of one call of the timed function; unknown without it.
        missed: ``no-time``, ``longer-than-its-run``, ``above-roofline``,
            ``unsynchronised-timer``, ``warm-up-inside``, ``mean-of-skewed``; empty where nothing
            was found.
    """

    reported: tuple[float, ...]
    pending_ns: float
    work: Work
    missed: tuple[Quality, ...]

    def __bool__(self) -> bool:
        return not self.missed

    def __str__(self) -> str:
        shown = ", ".join(f"{each * 1e3:.4g}" for each in self.reported)
        lines = [f"{each.severity}: {each.message}" for each in self.missed]
        return "\n".join([f"reported {shown} ms", *(lines or ["nothing missed"])])


def check_timer(
    timer: Callable[[], float],
    fn: Callable[..., object] | None = None,
    *args: Any,  # noqa: ANN401 -- the user's own
    machine: Machine | None = None,
    runs: int = RUNS,
) -> TimerCheck:
    """Run timing code several times and say what it misses.

    Args:
        timer: The user's: gives seconds a call.
        fn: What it times, called as ``fn(*args)``: profiled once for the least time of its work.
        args: Arguments of ``fn``.
        machine: Where it runs; found where not given.
        runs: How often to run the timer. It should be fresh: what it has warmed up before, no
            one can see.

    Raises:
        UsageError: What cannot be called, fewer than one run, or a timer that gives no number.

    What it cannot see: clocks imported by name (``from time import perf_counter``).
    """
    refuse_lazy(timer, "timer")
    if fn is not None:
        refuse_lazy(fn, "fn")
    if runs < 1:
        raise UsageError("a timer must run at least once", "runs=5")
    machine = machine or this_machine()
    machine.synchronize()
    seen = [_run(timer, machine) for _ in range(runs)]
    work = Work()
    if fn is not None and is_cuda(machine):
        work = count_work(lambda: fn(*args))
    missed = [*_judge(seen, work)]
    pending = summarize([each.pending_ns for each in seen]).median
    return TimerCheck(tuple(each.seconds for each in seen), pending, work, tuple(missed))


@dataclass(frozen=True)
class _Seen:
    """One run of a timer.

    Attributes:
        seconds: What it reported.
        pending_ns: Device work left when it returned.
        lasted_ns: From its call until the device was done.
        laps: Times between the readings of a clock in pairs, ns; empty where none was seen.
    """

    seconds: float
    pending_ns: float
    laps: tuple[float, ...]
    lasted_ns: float = math.inf


def _run(timer: Callable[[], float], machine: Machine) -> _Seen:
    start = machine.now_ns()
    with _watched() as readings:
        given = timer()
    begin = machine.now_ns()
    machine.synchronize()
    end = machine.now_ns()
    try:
        seconds = float(given)
    except (TypeError, ValueError):
        raise UsageError(
            f"the timer gave {type(given).__name__}: it must give seconds", "return a number"
        ) from None
    pending, lasted = float(end - begin), float(end - start)
    laps = tuple(after - before for before, after in zip(readings[::2], readings[1::2]))  # noqa: B905
    return _Seen(seconds, pending, laps, lasted)


@contextmanager
def _watched() -> Iterator[list[float]]:
    """Readings of the module ``time`` and of device events, in ns, while the timer runs."""
    readings: list[float] = []
    kept = {name: getattr(time, name) for name in CLOCKS}

    def watched(read: Callable[[], float], scale: float) -> Callable[[], float]:
        def reading() -> float:
            value = read()
            readings.append(value * scale)
            return value

        return reading

    for name, read in kept.items():
        setattr(time, name, watched(read, 1.0 if name.endswith("_ns") else NS_PER_S))
    try:
        yield readings
    finally:
        for name, read in kept.items():
            setattr(time, name, read)


def _judge(seen: Sequence[_Seen], work: Work) -> Iterator[Quality]:
    seconds = [each.seconds for each in seen]
    if not all(0 < each < math.inf for each in seconds):
        yield Quality("no-time", "fatal", 1, f"{_odd(seconds):g} s is no time that a call can take")
        return
    yield from _longer_than_run(seen)
    reported = summarize(seconds[1:] or seconds).median * NS_PER_S
    if is_impossible(reported, work):
        yield above_roofline("reported", reported, work)
    pending = summarize([each.pending_ns for each in seen]).median
    if pending > PENDING * max(reported, 1.0) and pending > PENDING_NS:
        yield Quality(
            "unsynchronised-timer",
            "fatal",
            len(seen),
            f"{pending / 1e6:.3g} ms of device work were left when the timer returned "
            f"{reported / 1e6:.3g} ms: wait for the device before reading the clock",
        )
    yield from _warm_up(seen)
    yield from _skew(seen)


def _odd(seconds: Sequence[float]) -> float:
    return next(each for each in seconds if not 0 < each < math.inf)


def _longer_than_run(seen: Sequence[_Seen]) -> Iterator[Quality]:
    """Times that lie above the whole run that holds the calls: of another unit, most likely."""
    over = [each for each in seen if each.seconds * NS_PER_S > SLACK * each.lasted_ns]
    if len(over) == len(seen):
        worst = over[0]
        yield Quality(
            "longer-than-its-run",
            "fatal",
            len(over),
            f"a call of {worst.seconds:.3g} s is reported by a run that took "
            f"{worst.lasted_ns / NS_PER_S:.3g} s in all: give seconds a call",
        )


SLACK = 1.05
"""Clocks of two sources may part by this much."""
PENDING_NS = 20_000.0
"""A wait for an idle device takes up to this long."""


def _warm_up(seen: Sequence[_Seen]) -> Iterator[Quality]:
    """A first run, or a first lap, that is slower than all that follow."""
    seconds = [each.seconds for each in seen]
    laps = [each.laps for each in seen if len(each.laps) > TWO]
    slow = len(seconds) > TWO and seconds[0] > SLOWER_FIRST * max(seconds[1:])
    first = bool(laps) and laps[0][0] > SLOWER_FIRST * max(laps[0][1:])
    counted = first and _is_near(seen[0].seconds, sum(laps[0]) / len(laps[0]) / NS_PER_S)
    if slow or counted:
        yield Quality(
            "warm-up-inside",
            "warning",
            1,
            f"the first run reports {seconds[0] * 1e3:.3g} ms, later ones "
            f"{summarize(seconds[1:] or seconds).median * 1e3:.3g} ms: warm up before the clock",
        )


def _skew(seen: Sequence[_Seen]) -> Iterator[Quality]:
    """A mean of laps that parts from their median, and is what the timer reports."""
    for each in seen[1:] or seen:
        if len(each.laps) <= TWO:
            continue
        figures = summarize(each.laps)
        if abs(figures.skew) > SKEWED and _is_near(each.seconds, figures.mean / NS_PER_S):
            yield Quality(
                "mean-of-skewed",
                "warning",
                figures.n,
                f"the mean of {figures.n} times is {figures.skew:+.0%} against their median: "
                "report the median",
            )
            return


def _is_near(value: float, other: float) -> bool:
    return abs(value - other) <= 0.01 * max(abs(other), 1e-12)
