"""Take synchronize() out of the loop."""

from __future__ import annotations

from boundby.evidence.words import often
from boundby.prescribe.case import Case
from boundby.prescribe.prediction import Prediction, without_waits
from boundby.prescribe.prescription import Costs
from boundby.prescribe.readings import PAYS, at, over, waits
from boundby.prescribe.rule import Risk, Rule, Turn

HOW = """\
# delete torch.cuda.synchronize() from the loop; one after it is enough
start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
start.record(); model(batch); end.record()      # the queue goes on
"""


def applies(case: Case) -> str | None:
    """Steps wait for the device on purpose; seldom waits count where they cost."""
    row = waits(case, "explicit-sync")
    if row is None or (row.count_per_step < 1 and not over(row.cost_ms, PAYS * case.step.estimate)):
        return None
    return f"The step waits for the whole device {often(row.count_per_step)}{at(row.where)}."


def predict(case: Case) -> Prediction | None:
    """The step without these waits alone."""
    return without_waits(case, "explicit-sync")


RULE = Rule(
    id="remove-synchronize",
    title="Take torch.cuda.synchronize() out of the step.",
    how=HOW,
    stop_when="the only waits left are those that read a result",
    does_not_help="waits with nothing to hide behind: if the device is the limit, the time stays",
    applies=applies,
    attacks=("sync",),
    turn=Turn.OUT_OF_LOOP,
    risk=Risk.NONE,
    edit="no_sync",
    predict=predict,
    answers=("explicit-sync",),
    costs=Costs(memory="none"),
)
