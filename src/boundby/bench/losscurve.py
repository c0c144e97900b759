"""N training steps: does the loss of a change stay where seeds of the baseline scatter?

Neither a fixed percentage nor a late step is a gate: on the case study, correct bfloat16 leaves
float32 by 2% at step 19 and by 17% at step 20, where the loss turns, while wrong gradients leave
it by 5% at the second step and by 12 to 50% from then on. So most steps must lie within the
spread of the baseline's seeds, and the median step too.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from boundby.bench.framework import set_seeds
from boundby.bench.targets import refuse_lazy
from boundby.errors import CannotTellError, UsageError

STEPS = 20
SEEDS = 3
LEAST_BAND = 0.01
"""Correct float32 and bfloat16 curves of the case study part by 0.4% before they turn."""
WIDE_BAND = 0.25
"""Seeds that part by more say little: a change of that size would go unseen."""
OUTSIDE = 0.25
"""Share of steps that may lie outside the spread: 2 of 20 did in a correct run, 18 in a wrong."""
IN_A_ROW = 2

MakeStep = Callable[[], Callable[[], object]]
"""Builds model, data and optimizer, and gives a function that makes a step and gives its loss."""


@dataclass(frozen=True)
class LossCurve:
    """A candidate's losses beside those of the baseline.

    Attributes:
        new: Losses of the candidate, first seed.
        baseline: Losses of the baseline, one curve a seed.
        deviation: Relative distance from the baseline of the same seed, by step.
        band: Spread of the baseline's seeds, relative, by step; at least ``LEAST_BAND``.
    """

    new: tuple[float, ...]
    baseline: tuple[tuple[float, ...], ...]
    deviation: tuple[float, ...]
    band: tuple[float, ...]

    @property
    def outside(self) -> tuple[int, ...]:
        """Steps outside the band, from 0."""
        pairs = zip(self.deviation, self.band, strict=True)
        return tuple(at for at, (away, band) in enumerate(pairs) if not away <= band)

    @property
    def leaves_at(self) -> int | None:
        """First of two steps in a row outside the band; None where there are none."""
        found = set(self.outside)
        return next((at for at in sorted(found) if at + IN_A_ROW - 1 in found), None)

    @property
    def passed(self) -> bool:
        """Whether the curve stays with the baseline."""
        few = len(self.outside) <= OUTSIDE * len(self.deviation)
        return few and median(self.deviation) <= median(self.band)

    def __str__(self) -> str:
        word = "pass" if self.passed else "fail"
        where = "" if self.leaves_at is None else f", leaves at step {self.leaves_at}"
        wide = f"; {WIDE}" if self.is_wide and self.passed else ""
        return (
            f"{word}: loss over {len(self.new)} steps, median deviation "
            f"{percent(median(self.deviation))}, spread of seeds {percent(median(self.band))}"
            f"{where}{wide}"
        )

    @property
    def is_wide(self) -> bool:
        """Whether the seeds of the baseline part so far that the answer says little."""
        return median(self.band) > WIDE_BAND


WIDE = "the seeds part so far that a smaller difference would go unseen"


def percent(share: float) -> str:
    """A share as a percentage; of many times, or of no number, in words."""
    if not math.isfinite(share):
        return "not finite"
    return f"{share:.2%}" if share < MANY else f"{share:.2g} times"


MANY = 10


def check_training(
    new: MakeStep, ref: MakeStep, steps: int = STEPS, seeds: int = SEEDS
) -> LossCurve:
    """Train both from the same seed, and the baseline from others as well.

    Args:
        new, ref: Build a training step; called after the seed was set, so that they start alike.
        steps: To make.
        seeds: Of the baseline, at least two.

    Raises:
        UsageError: What cannot be called, or fewer than two steps or seeds.
        CannotTellError: A step that gives no loss, or a baseline whose loss is not finite.
    """
    refuse_lazy(new, "new")
    refuse_lazy(ref, "ref")
    if seeds < 2:  # noqa: PLR2004 -- a spread needs two
        raise UsageError("the spread of the baseline needs at least two seeds", f"seeds={SEEDS}")
    if steps < IN_A_ROW:
        raise UsageError("a curve needs at least two steps", f"steps={STEPS}")
    baseline = [_curve(ref, steps, seed) for seed in range(seeds)]
    return compare_curves(_curve(new, steps, 0), baseline)


def compare_curves(new: Sequence[float], baseline: Sequence[Sequence[float]]) -> LossCurve:
    """Hold one curve against several; the first of them has the candidate's seed.

    Raises:
        CannotTellError: The baseline's own loss is not finite.
    """
    flat = [loss for curve in baseline for loss in curve]
    if not all(loss - loss == 0 for loss in flat):
        raise CannotTellError("the baseline's own loss is not finite")
    deviation = [_relative(a, b) for a, b in zip(new, baseline[0], strict=True)]
    band = [max(_spread(losses), LEAST_BAND) for losses in zip(*baseline, strict=True)]
    return LossCurve(tuple(new), tuple(map(tuple, baseline)), tuple(deviation), tuple(band))


def _curve(make: MakeStep, steps: int, seed: int) -> list[float]:
    set_seeds(seed)
    step = make()
    if not callable(step):
        raise CannotTellError(
            f"no step was made but {type(step).__name__}",
            "NEW and REF build model and optimizer and give a function that makes a step",
        )
    return [_number(step()) for _ in range(steps)]


def _relative(new: float, old: float) -> float:
    return abs(new - old) / max(abs(old), 1e-12)


def _spread(losses: Sequence[float]) -> float:
    middle = abs(median(losses))
    return (max(losses) - min(losses)) / max(middle, 1e-12)


def _number(loss: Any) -> float:  # noqa: ANN401 -- a tensor or a number
    try:
        return float(loss.detach()) if hasattr(loss, "detach") else float(loss)
    except (TypeError, ValueError, RuntimeError):
        raise CannotTellError(
            f"a step gave {type(loss).__name__} and no loss", "let a step give its loss"
        ) from None
