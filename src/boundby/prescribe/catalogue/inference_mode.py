"""Do not record for a backward pass that never comes."""

from __future__ import annotations

from boundby.prescribe.case import Case
from boundby.prescribe.prescription import Costs
from boundby.prescribe.rule import HOST, Risk, Rule, Turn

HOW = """\
model.eval()
with torch.inference_mode():        # less bookkeeping than no_grad()
    y = model(x)
"""


def applies(case: Case) -> str | None:
    """Operators are recorded for a backward pass, and none runs."""
    mode = case.signs.mode
    if mode.training is not False or not mode.records_grad:
        return None
    return "Operators are recorded for a backward pass that the steps do not run."


RULE = Rule(
    id="inference-mode",
    title="Run inference under torch.inference_mode().",
    how=HOW,
    stop_when="no operator is recorded for a backward pass",
    does_not_help="a busy device; results that later take part in a backward pass (use no_grad)",
    applies=applies,
    attacks=HOST,
    turn=Turn.OUT_OF_LOOP,
    risk=Risk.NONE,
    no_estimate="a recording does not separate this bookkeeping from the operators",
    costs=Costs(
        memory="less: activations are let go at once",
        shapes="its results cannot be used for gradients",
    ),
)
