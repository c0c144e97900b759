"""Update all parameters with one kernel."""

from __future__ import annotations

from boundby.prescribe.case import Case
from boundby.prescribe.prescription import Costs
from boundby.prescribe.rule import HOST, Risk, Rule, Turn

HOW = """\
optimizer = torch.optim.AdamW(model.parameters(), lr=lr, fused=True)
"""

KIND = {"loop": "one tensor at a time", "foreach": "operation by operation on lists of tensors"}


def applies(case: Case) -> str | None:
    """The optimizer updates in a loop or with foreach kernels."""
    update = case.signs.update
    if update.kind not in KIND:
        return None
    launches = (
        f" ({update.launches:.0f} of the step's launches)" if update.launches is not None else ""
    )
    return f"The optimizer updates the parameters {KIND[update.kind]}{launches}."


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
    costs=Costs(numerics="rounding only", shapes="floating-point parameters on the device"),
)
