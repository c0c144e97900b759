"""The ladder: remove the leading cost, ask again, down to what the device needs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from boundby.replay.program import Program
from boundby.replay.split import DeviceSplit
from boundby.replay.values import Part, WaterfallPart
from boundby.replay.waterfall import descend, waterfall
from boundby.replay.whatif import EDITS
from boundby.units import ms

FIX: dict[Part, str] = {
    "data": "no_data_wait",
    "sync": "no_sync",
    "python": "no_python",
    "submission": "no_submit_cost",
}
PAYS = 0.02
"""A fix that gains less than this share of the step buys nothing yet."""

Leading = Callable[[Sequence[WaterfallPart]], Part]


@dataclass(frozen=True)
class Step:
    """One rung as replayed: the leading part, the edit against it, and the step after it, ms."""

    part: Part
    fix: str
    step_ms: float
    pays: bool


def climb_down(clean: Program, split: DeviceSplit, leading: Leading) -> tuple[Step, ...]:
    """Rungs from the clean program to the device's own time.

    Args:
        leading: Names the part that bounds a waterfall (the verdict's own rule).
    """
    rungs: list[Step] = []
    program, now = clean, None
    while len(rungs) < len(FIX):
        descent = descend(program, split)
        now = descent.now if now is None else now
        part = leading(waterfall(program, descent, split))
        if part not in FIX or any(r.part == part for r in rungs):
            return (*rungs, Step(part, "", ms(now), pays=False))
        program = EDITS[FIX[part]](program)
        after = min(now, descend(program, split).now)
        rungs.append(Step(part, FIX[part], ms(after), pays=now - after >= PAYS * now))
        now = after
    return tuple(rungs)
