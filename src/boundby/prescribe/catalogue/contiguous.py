"""Make operands run along the same dimension."""

from __future__ import annotations

from boundby.evidence.words import counted
from boundby.prescribe.case import Case
from boundby.prescribe.prescription import Costs
from boundby.prescribe.readings import PAYS, of_device, over
from boundby.prescribe.rule import Risk, Rule, Turn

HOW = """\
y = x.t().contiguous()      # one read and one write, once
z = y + w; u = y * w        # then at full bandwidth
"""


def applies(case: Case) -> str | None:
    """Large operands of one operator run along different dimensions."""
    layout = case.signs.layout
    if not over(layout.fighting, PAYS):
        return None
    pays = (
        f"copying one first pays from {max(layout.pays_from, 1.0):.2g} uses on"
        if layout.pays_from
        else "whether copying one first pays depends on how often it is used"
    )
    return (
        f"Operands whose layouts fight meet in {counted(layout.fights or 0.0, 'operator')} a step "
        f"({layout.fighting:.0%} of the device's time); {pays}."
    )


def most(case: Case) -> float | None:
    """All that those operators take."""
    return of_device(case, case.signs.layout.fighting)


RULE = Rule(
    id="contiguous",
    title="Give operands that meet often the same layout: contiguous() once, before the loop.",
    how=HOW,
    stop_when="no operator is left whose large operands run along different dimensions",
    does_not_help="one transposed operand alone (the loop follows its layout), or an operand "
    "that is used once",
    applies=applies,
    attacks=("device-memory",),
    turn=Turn.LAYOUT,
    risk=Risk.NONE,
    edit="contiguous",
    most=most,
    answers=("layout",),
    costs=Costs(memory="a copy of the operand"),
)
