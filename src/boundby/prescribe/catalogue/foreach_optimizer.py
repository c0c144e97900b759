"""Update the parameters with operations on lists of tensors."""

from __future__ import annotations

from boundby.prescribe.case import Case
from boundby.prescribe.optimizers import FOREACH, construct, has_form, launches, most
from boundby.prescribe.prescription import Costs
from boundby.prescribe.rule import HOST, Risk, Rule, Turn

HOW = """\
optimizer = torch.optim.AdamW(..., foreach=True)  # or the class you use
"""


def applies(case: Case) -> str | None:
    """The optimizer updates one tensor at a time."""
    update = case.signs.update
    if update.kind != "loop" or not has_form(case, FOREACH):
        return None
    name = update.optimizer or "The optimizer"
    return f"{name} updates one tensor at a time{launches(case)}."


def fit(case: Case) -> str:
    """For the class that was recorded."""
    return construct(case, HOW, "foreach")


RULE = Rule(
    id="foreach-optimizer",
    title="Update the parameters in lists, one kernel an operation.",
    how=HOW,
    stop_when="the update takes less than 2% of the step",
    does_not_help="parameters that are tensor subclasses, and updates hidden behind a busy "
    "device; where fused=True is possible it is better",
    applies=applies,
    attacks=(*HOST, "device-memory"),
    turn=Turn.OPTIMIZER,
    risk=Risk.NONE,
    edit="foreach_optimizer",
    most=most,
    fit=fit,
    answers=("optimizer",),
    costs=Costs(memory="temporaries the size of the parameters during the update"),
)
