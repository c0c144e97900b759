"""Two results: how far apart, how sure, and whether they may be compared at all."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from boundby.bench.caliber import Difference, differences, under_test
from boundby.bench.result import Clock, Result
from boundby.bench.warmup import WarmUp
from boundby.errors import CannotTellError
from boundby.statistics import (
    ABSOLUTE_FLOOR_NS,
    FEWEST_PAIRS,
    PRACTICAL,
    Effect,
    Ratio,
    judge,
    paired_ratio,
    separate_ratio,
    summarize,
)

MEMORY_MATTERS = 0.02
LEAST_MEMORY = 1 << 20
"""Below a MiB peak memory moves with the allocator's rounding."""


@dataclass(frozen=True)
class Thresholds:
    """What counts as a change: least relative effect, least effect in ns."""

    practical: float = PRACTICAL
    floor_ns: float = ABSOLUTE_FLOOR_NS


DEFAULT = Thresholds()


@dataclass(frozen=True)
class ClockComparison:
    """One clock of two results; medians in ns, ratio new over old."""

    name: str
    old_ns: float
    new_ns: float
    ratio: Ratio
    effect: Effect


@dataclass(frozen=True)
class Beside:
    """A figure beside the speed; None where unknown. ``unit``: ``bytes``, ``ns`` or empty."""

    name: str
    old: float | None
    new: float | None
    unit: str


@dataclass(frozen=True)
class Comparison:
    """What changed from the old result to the new one.

    Attributes:
        old, new: Titles.
        effect: Of the deciding clock: the wall clock.
        clocks: Each clock that both have, the deciding one first.
        beside: Memory and compile time.
        across: Differences of caliber that are under test.
        notes: How far the answer reaches.
        is_correct: Whether the new one passed the check; None where it was not checked.
    """

    old: str
    new: str
    effect: Effect
    clocks: tuple[ClockComparison, ...]
    beside: tuple[Beside, ...] = ()
    across: tuple[Difference, ...] = ()
    notes: tuple[str, ...] = ()
    is_correct: bool | None = None

    @property
    def is_regression(self) -> bool:
        """Whether the new one is slower, both surely and noticeably."""
        return self.effect == "slower"


def compare_results(
    old: Result, new: Result, across: Iterable[str] = (), limits: Thresholds = DEFAULT
) -> Comparison:
    """Compare two saved results.

    Args:
        old, new: Results.
        across: Fields of the caliber that are the thing under test.
        limits: What counts as a change.

    Raises:
        CannotTellError: Their calibers differ in anything else, or one of them is void.
    """
    apart = refuse_other_caliber(old, new, across)
    refuse_void(old)
    refuse_void(new)
    clocks = tuple(
        _clock(name, before, after, limits) for name, before, after in _shared_clocks(old, new)
    )
    return Comparison(
        old=old.labels.title,
        new=new.labels.title,
        effect=clocks[0].effect,
        clocks=clocks,
        beside=_beside(old, new),
        across=apart,
        notes=tuple(_notes(old, new)),
    )


def refuse_other_caliber(old: Result, new: Result, across: Iterable[str]) -> tuple[Difference, ...]:
    """Differences of caliber, where all of them are under test.

    Raises:
        CannotTellError: Two calibers or caches differ otherwise.
    """
    apart = differences(old.caliber, new.caliber)
    wanted = under_test(across)
    foreign = [each for each in apart if each.name not in wanted]
    if foreign:
        first = foreign[0]
        raise CannotTellError(
            f"different caliber: {first.name} is {first.old} in the old and {first.new} in the new"
            + (f" ({len(foreign)} fields differ)" if len(foreign) > 1 else ""),
            f"measure both alike, or --across {','.join(each.name for each in foreign)}",
        )
    if old.is_cold != new.is_cold:
        raise CannotTellError("one result has a cold cache, the other a hot one", "measure alike")
    return apart


def refuse_void(result: Result) -> None:
    """Raise CannotTellError where the figures of a result are impossible."""
    fatal = [each for each in result.trust if each.severity == "fatal"]
    if fatal:
        raise CannotTellError(f"{result.labels.title}: {fatal[0].message}", "measure it again")


def _shared_clocks(old: Result, new: Result) -> list[tuple[str, Clock, Clock]]:
    """Clocks whose samples have a ratio; a device that had nothing to do shows zero."""
    more = (("device", old.device, new.device), ("submit", old.submit, new.submit))
    return [
        ("wall", old.wall, new.wall),
        *(
            (name, before, after)
            for name, before, after in more
            if before is not None and after is not None and _has_ratio(before) and _has_ratio(after)
        ),
    ]


def _has_ratio(clock: Clock) -> bool:
    return bool(clock.ns) and min(clock.ns) > 0


def _clock(name: str, old: Clock, new: Clock, limits: Thresholds) -> ClockComparison:
    ratio = separate_ratio(new.ns, old.ns)
    before, after = old.summary.median, new.summary.median
    is_sure = min(len(old.ns), len(new.ns)) >= FEWEST_PAIRS
    effect = judge(ratio, before, limits.practical, limits.floor_ns) if is_sure else "too-noisy"
    return ClockComparison(name, before, after, ratio, effect)


def judge_pairs(
    new: Sequence[float], old: Sequence[float], limits: Thresholds = DEFAULT
) -> Comparison:
    """The comparison that samples taken in turns give, ns."""
    ratio = paired_ratio(new, old)
    before, after = summarize(old).median, summarize(new).median
    effect = judge(ratio, before, limits.practical, limits.floor_ns)
    clock = ClockComparison("wall", before, after, ratio, effect)
    return Comparison("old", "new", effect, (clock,))


def _beside(old: Result, new: Result) -> tuple[Beside, ...]:
    return beside((old.warm_up, new.warm_up), (old.peak_bytes, new.peak_bytes))


def beside(warm: tuple[WarmUp, WarmUp], peaks: tuple[int | None, int | None]) -> tuple[Beside, ...]:
    """What stands beside the speed of old and new."""
    old, new = warm
    return (
        Beside("peak memory", *peaks, "bytes"),
        Beside("first call", _first(old), _first(new), "ns"),
        Beside("compile", _first(old, "compile"), _first(new, "compile"), "ns"),
    )


def _first(warm: WarmUp, name: str = "") -> float | None:
    costs = [each.ns for each in warm.first if not name or each.name == name]
    return sum(costs) if costs else None


def _notes(old: Result, new: Result) -> Iterable[str]:
    yield (
        "each result is one run: what differs from one process to the next is not in the "
        "interval; --live takes turns"
    )
    for which, result in (("old", old), ("new", new)):
        if len(result.wall.ns) < FEWEST_PAIRS:
            count = len(result.wall.ns)
            samples = "1 sample is" if count == 1 else f"{count} samples are"
            yield f"{which}: {samples} too few for an interval, which takes {FEWEST_PAIRS}"
        for each in result.trust:
            if each.severity == "warning":
                yield f"{which}: {each.message}"
    if old.peak_bytes is not None and new.peak_bytes is not None:
        more = new.peak_bytes - old.peak_bytes
        if abs(more) > max(MEMORY_MATTERS * old.peak_bytes, LEAST_MEMORY):
            word = "more" if more > 0 else "less"
            yield f"the new one needs {abs(more) / 2**20:.0f} MiB {word} memory at its peak"
