"""Do not compute twice what memory could keep."""

from __future__ import annotations

from boundby.prescribe.case import Case
from boundby.prescribe.prescription import Costs
from boundby.prescribe.readings import PAYS, of_device, over
from boundby.prescribe.rule import DEVICE, HOST, Risk, Rule, Turn

HOW = """\
y = block(x)            # for checkpoint(block, x)
# begin with the layers whose checkpoint saves least memory
"""

FULL = 0.85
"""Above this use of device memory, checkpointing is probably there for a reason."""


def applies(case: Case) -> str | None:
    """Forward work is repeated in the backward pass, and memory is not known to be short."""
    again = case.signs.mode.recomputed
    if not over(again, PAYS) or over(case.live.memory_used, FULL):
        return None
    return (
        f"{again:.0%} of the device's time repeats forward work in the backward pass (activation "
        "checkpointing): a loss, unless the memory it saves buys a larger batch that pays."
    )


def most(case: Case) -> float | None:
    """All that is repeated."""
    return of_device(case, case.signs.mode.recomputed)


RULE = Rule(
    id="drop-checkpointing",
    title="Checkpoint fewer layers, as memory allows.",
    how=HOW,
    stop_when="memory is nearly full, or nothing is computed twice",
    does_not_help="a batch that does not fit otherwise",
    applies=applies,
    attacks=(*DEVICE, *HOST),
    turn=Turn.TRADE,
    risk=Risk.NONE,
    most=most,
    no_estimate="only repeats under recognised operators are seen",
    costs=Costs(memory="activations of each layer that is no longer checkpointed"),
)
