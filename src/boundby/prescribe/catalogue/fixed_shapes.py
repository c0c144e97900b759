"""Keep shapes independent of values."""

from __future__ import annotations

from boundby.evidence.words import often
from boundby.prescribe.case import Case
from boundby.prescribe.prediction import Prediction, without_waits
from boundby.prescribe.prescription import Costs
from boundby.prescribe.readings import at, waits
from boundby.prescribe.rule import HOST, Risk, Rule, Turn

HOW = """\
# for x[mask].pow(2).mean():
loss = torch.where(mask, x.pow(2), 0.0).sum() / mask.sum()
# for "if mask.any(): y[mask] = 0":
y = y.masked_fill(mask, 0.0)
# sequences: pad to a few lengths and mask
"""


def applies(case: Case) -> str | None:
    """The host waits to learn the shape of a result."""
    row = waits(case, "data-dependent-shape")
    if row is None:
        return None
    return (
        f"The host waits {often(row.count_per_step)} a step to learn how large a result is"
        f"{at(row.where)}: nonzero, masks as indices, unique."
    )


def predict(case: Case) -> Prediction | None:
    """The step without these waits alone."""
    return without_waits(case, "data-dependent-shape")


RULE = Rule(
    id="fixed-shapes",
    title="Compute on fixed shapes and mask, instead of selecting by value.",
    how=HOW,
    stop_when="no operator in the step has a shape that depends on values",
    does_not_help="masks that select a few of very many: computing all of them costs more",
    applies=applies,
    attacks=("sync", *HOST),
    turn=Turn.OUT_OF_LOOP,
    risk=Risk.SHAPES,
    edit="no_sync",
    predict=predict,
    answers=("data-dependent-shape",),
    costs=Costs(memory="results of full size", numerics="NaN in masked places spreads: fill first"),
)
