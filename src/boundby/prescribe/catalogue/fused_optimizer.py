"""Update all parameters with one kernel."""

from __future__ import annotations

from boundby.prescribe.case import Case
from boundby.prescribe.optimizers import FUSED, construct, has_form, launches, most
from boundby.prescribe.prescription import Costs
from boundby.prescribe.rule import HOST, Risk, Rule, Turn

HOW = """\
optimizer = torch.optim.AdamW(..., fused=True)    # or your Adam, or SGD
"""

KIND = {"loop": "one tensor at a time", "foreach": "operation by operation on lists of tensors"}


def applies(case: Case) -> str | None:
    """The optimizer updates in a loop or with foreach kernels."""
    update = case.signs.update
    if update.kind not in KIND or not has_form(case, FUSED):
        return None
    name = update.optimizer or "The optimizer"
    return f"{name} updates the parameters {KIND[update.kind]}{launches(case)}."


def fit(case: Case) -> str:
    """For the class that was recorded."""
    return construct(case, HOW, "fused")


RULE = Rule(
    id="fused-optimizer",
    title="Update all parameters with one fused optimizer kernel.",
    how=HOW,
    stop_when="the update takes less than 2% of the step",
    does_not_help="an update that is a small part of the step, or hidden behind a busy device; "
    "optimizers without a fused form",
    applies=applies,
    attacks=(*HOST, "device-memory"),
    turn=Turn.OPTIMIZER,
    risk=Risk.NONE,
    edit="fused_optimizer",
    most=most,
    fit=fit,
    answers=("optimizer",),
    costs=Costs(
        memory="less: no temporaries of the size of the parameters",
        numerics="rounding only",
        shapes="floating-point parameters on the device",
    ),
)
