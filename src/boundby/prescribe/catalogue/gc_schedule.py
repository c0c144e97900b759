"""Collect garbage when it suits, not when it happens."""

from __future__ import annotations

from boundby.evidence.words import often
from boundby.prescribe.case import Case
from boundby.prescribe.prescription import Costs
from boundby.prescribe.readings import PAYS, millis
from boundby.prescribe.rule import Risk, Rule, Turn

HOW = """\
gc.collect(); gc.freeze(); gc.disable()     # once, after the first steps
if step % 1000 == 0:
    gc.collect()                            # or cycles pile up
"""


def applies(case: Case) -> str | None:
    """The collector runs inside steps for a notable time."""
    count, spent = _seen(case)
    if not count or spent is None or spent < PAYS * case.step.estimate:
        return None
    return f"The garbage collector runs {often(count)} a step, {spent:.3g} ms."


def _seen(case: Case) -> tuple[float | None, float | None]:
    """Collections of a step and their time: live where known, else as recorded."""
    if case.live.collections is not None:
        return case.live.collections, case.live.collection_ms
    return case.signs.switches.collections, case.signs.switches.collection_ms


def most(case: Case) -> float:
    """All collections, but no more than the Python of the step."""
    spent = min(_seen(case)[1] or 0.0, millis(case, "python"))
    return spent / (case.step.estimate or 1.0)


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
    most=most,
    no_estimate="collections are spread unevenly over steps",
    costs=Costs(memory="what is in reference cycles lives until the next collection"),
)
