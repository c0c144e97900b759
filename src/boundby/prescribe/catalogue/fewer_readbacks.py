"""Read values back seldom and together."""

from __future__ import annotations

from boundby.evidence.words import often
from boundby.prescribe.case import Case
from boundby.prescribe.prediction import Prediction, without_waits
from boundby.prescribe.prescription import Costs
from boundby.prescribe.readings import at, waits
from boundby.prescribe.rule import Risk, Rule, Turn

HOW = """\
running += loss.detach()                # stays on the device: no wait
if step % 100 == 0:
    log(running.item() / 100)           # one wait in a hundred steps
    running.zero_()
# several values: torch.stack([loss, norm]).tolist() waits once for all
"""
IN_INFERENCE = """\
values.append(value.detach())           # stays on the device: no wait
if step % 100 == 0:
    log(torch.stack(values).tolist())   # one wait for all of them
    values.clear()
# to stop on a condition: ask for it once in sixteen steps
"""


def applies(case: Case) -> str | None:
    """Values are read from the device inside the step."""
    row = waits(case, "item")
    if row is None:
        return None
    depth = row.outstanding_device_ms
    queue = f" with {depth:.3g} ms of device work queued" if depth is not None else ""
    return (
        f"The host reads a value from the device {often(row.count_per_step)} a step{queue}"
        f"{at(row.where)}."
    )


def predict(case: Case) -> Prediction | None:
    """The step without these waits alone."""
    return without_waits(case, "item")


def fit(case: Case) -> str:
    """The code of a loop without a loss where nothing trains."""
    return IN_INFERENCE if case.signs.mode.training is False else HOW


RULE = Rule(
    id="fewer-readbacks",
    title="Keep values on the device; read them back seldom and together.",
    how=HOW,
    stop_when="reads happen only when something is logged or decided",
    does_not_help="a read with a deep queue at the end of a step: the device never runs dry",
    applies=applies,
    attacks=("sync",),
    turn=Turn.OUT_OF_LOOP,
    risk=Risk.NONE,
    edit="no_sync",
    predict=predict,
    fit=fit,
    answers=("item",),
    costs=Costs(memory="none"),
)
