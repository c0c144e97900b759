"""Two functions in one process, measured in turns, with correctness beside the speed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from boundby.bench.compare import (
    DEFAULT,
    Beside,
    Comparison,
    Thresholds,
    beside,
    judge_pairs,
)
from boundby.bench.correctness import USERS_ERRORS, Check, check
from boundby.bench.machine import Machine, this_machine
from boundby.bench.measure import PeakMemory
from boundby.bench.sampling import block_size
from boundby.bench.targets import refuse_lazy
from boundby.bench.trust import unsteady
from boundby.bench.warmup import WarmUp, warm_up
from boundby.errors import BoundbyError
from boundby.statistics import FEWEST_PAIRS, paired_ratio
from boundby.units import NS_PER_S

BUDGET_S = 10.0
MOST_PAIRS = 400
"""More narrow the interval by little and make the rank interval slow."""
WANTED_PAIRS = 30
ROUND = 10
NARROW = 3
"""Stop when half the interval is a third of the effect that matters: then both an effect of that
size and none at all are told apart with a margin."""


def compare_functions(
    new: Callable[..., object],
    old: Callable[..., object],
    inputs: Sequence[Any] = (),
    *,
    machine: Machine | None = None,
    budget_s: float = BUDGET_S,
    limits: Thresholds = DEFAULT,
) -> Comparison:
    """Warm both up, check the new against the old, and time them in turns.

    Args:
        new, old: Called with the inputs.
        inputs: Arguments of both.
        machine: Where they run; found where not given.
        budget_s: Seconds of sampling; six pairs are taken in any case.
        limits: What counts as a change.

    Raises:
        UsageError: One of them cannot be measured by calling it.
    """
    refuse_lazy(new, "the new one")
    refuse_lazy(old, "the old one")
    machine = machine or this_machine()
    (first_old, peak_old) = _prepare(lambda: old(*inputs), machine)
    (first_new, peak_new) = _prepare(lambda: new(*inputs), machine)
    is_correct, numeric, note = _numerics(new, old, inputs)
    found = compare_live(lambda: new(*inputs), lambda: old(*inputs), machine, budget_s, limits)
    figures, notes = beside((first_old, first_new), (peak_old, peak_new)), list(found.notes)
    for which, warm in (("old", first_old), ("new", first_new)):
        if not warm.is_steady:
            notes.append(f"{which}: {unsteady(warm)}")
    return replace(found, beside=(*figures, *numeric), notes=(*note, *notes), is_correct=is_correct)


def compare_live(
    new: Callable[[], object],
    old: Callable[[], object],
    machine: Machine,
    budget_s: float = BUDGET_S,
    limits: Thresholds = DEFAULT,
) -> Comparison:
    """Measure two warm functions in turns, until the interval is narrow or the time is up.

    The order of each pair alternates (old new, new old), so that a steady drift cancels. Sampling
    stops on the width of the interval, never on its place: that would favour a difference.
    """
    calls = new, old
    numbers = [block_size(call, machine) for call in calls]
    taken: tuple[list[float], list[float]] = ([], [])
    began = machine.now_ns()
    while not _is_enough(taken, machine.now_ns() - began, budget_s, limits):
        for which in (1, 0, 0, 1):
            taken[which].append(_sample(calls[which], machine, numbers[which]))
    return judge_pairs(taken[0], taken[1], limits)


def _is_enough(
    taken: tuple[list[float], list[float]], spent: float, budget_s: float, limits: Thresholds
) -> bool:
    """Whether to stop. Looked at after whole rounds alone, but for the time, which ends any."""
    pairs = len(taken[0])
    if pairs < FEWEST_PAIRS:
        return False
    if pairs >= MOST_PAIRS or spent >= budget_s * NS_PER_S:
        return True
    if pairs < WANTED_PAIRS or pairs % ROUND:
        return False
    return paired_ratio(taken[0], taken[1]).half_width <= limits.practical / NARROW


def _sample(call: Callable[[], object], machine: Machine, number: int) -> float:
    machine.synchronize()
    begin = machine.now_ns()
    for _ in range(number):
        call()
    machine.synchronize()
    return max(float(machine.now_ns() - begin) / number, 1.0)


def _prepare(call: Callable[[], object], machine: Machine) -> tuple[WarmUp, int | None]:
    peak = PeakMemory(machine)
    warm = warm_up(call, machine)
    return warm, peak.above()


def _numerics(
    new: Callable[..., object], old: Callable[..., object], inputs: Sequence[Any]
) -> tuple[bool | None, list[Beside], list[str]]:
    """Whether the new one passes, the largest errors of both, and a note where it does not."""
    try:
        found = check(new, old, *inputs)
    except (BoundbyError, *USERS_ERRORS) as error:
        reason = getattr(error, "message", str(error)).splitlines()
        return None, [], [f"not checked for correctness: {reason[0] if reason else 'it failed'}"]
    errors = [each for case in found.cases for each in case.agreements]
    known = [each.baseline for each in errors if each.baseline is not None]
    figure = Beside(
        "error", max(known, default=None), max((e.error for e in errors), default=None), ""
    )
    return found.passed, [figure], [] if found.passed else [_failed(found)]


def _failed(found: Check) -> str:
    return f"the new one is not correct: {found}"
