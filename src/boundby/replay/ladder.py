"""The ladder: remove the leading cost, ask again, down to what the device needs."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from boundby.frozen import frozen
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

AT_ROOFLINE = "kernels_at_roofline"

Leading = Callable[[Sequence[WaterfallPart]], Part]


@frozen
class Step:
    """One rung as replayed: the leading part, the edit against it, and the step after it, ms."""

    part: Part
    fix: str
    step_ms: float
    pays: bool


@frozen
class Floor:
    """Every counted kernel at its roof.

    Attributes:
        edit: Puts them there.
        split: What the device time is then made of.
    """

    edit: Callable[[Program], Program]
    split: DeviceSplit


def climb_down(
    clean: Program, split: DeviceSplit, leading: Leading, floor: Floor | None = None
) -> tuple[Step, ...]:
    """Rungs from the clean program to the device's own time, and on to the roofs.

    Args:
        leading: Names the part that bounds a waterfall (the verdict's own rule).
        floor: None where the roofs are unknown.
    """
    rungs: list[Step] = []
    program, now = clean, None
    while len(rungs) < len(FIX):
        descent = descend(program, split)
        now = descent.now if now is None else now
        part = leading(waterfall(program, descent, split))
        if part not in FIX:
            return (
                *rungs,
                *_to_the_roofs(program, Step(part, "", ms(now), pays=False), floor, leading),
            )
        if any(r.part == part for r in rungs):
            return (*rungs, Step(part, "", ms(now), pays=False))
        program = EDITS[FIX[part]](program)
        after = min(now, descend(program, split).now)
        rungs.append(Step(part, FIX[part], ms(after), pays=now - after >= PAYS * now))
        now = after
    return tuple(rungs)


def _to_the_roofs(
    program: Program, reached: Step, floor: Floor | None, leading: Leading
) -> tuple[Step, ...]:
    """From the device's own time to what its kernels need at their roofs, where that is less."""
    if floor is None:
        return (reached,)
    edited = floor.edit(program)
    descent = descend(edited, floor.split)
    after = ms(descent.now)
    if after >= reached.step_ms:
        return (reached,)
    pays = reached.step_ms - after >= PAYS * reached.step_ms
    part = leading(waterfall(edited, descent, floor.split))
    return (Step(reached.part, AT_ROOFLINE, after, pays), Step(part, "", after, pays=False))
