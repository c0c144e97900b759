"""Collect garbage when it suits, not when it happens."""

from __future__ import annotations

from boundby.evidence.words import often
from boundby.prescribe.case import Case
from boundby.prescribe.prescription import Costs
from boundby.prescribe.readings import PAYS
from boundby.prescribe.rule import Risk, Rule, Turn

HOW = """\
gc.collect(); gc.freeze(); gc.disable()     # once, after the first steps
if step % 1000 == 0:
    gc.collect()                            # or cycles pile up
"""


def applies(case: Case) -> str | None:
    """The collector runs inside steps for a notable time."""
    switches = case.signs.switches
    count, spent = switches.collections, switches.collection_ms
    if not count or spent is None or spent < PAYS * case.step.estimate:
        return None
    return f"The garbage collector runs {often(count)} a step, {spent:.3g} ms."


RULE = Rule(
    id="gc-schedule",
    title="Run the garbage collector every so many steps, on all ranks at the same step.",
    how=HOW,
    stop_when="collections take less than 2% of the time",
    does_not_help="a single device that is busy anyway; disabling it for good leaks host memory "
    "until a process is killed",
    applies=applies,
    attacks=("python",),
    turn=Turn.OUT_OF_LOOP,
    risk=Risk.SHAPES,
    no_estimate="collections are spread unevenly over steps",
    costs=Costs(memory="what is in reference cycles lives until the next collection"),
)
