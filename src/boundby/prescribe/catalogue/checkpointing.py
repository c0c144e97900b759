"""Compute activations again to make room for a batch that pays."""

from __future__ import annotations

from boundby.prescribe.case import Case
from boundby.prescribe.catalogue.larger_batch import smallest_worth_it
from boundby.prescribe.prescription import Costs
from boundby.prescribe.readings import gain, is_host_bound, is_saturated, over
from boundby.prescribe.rule import HOST, Risk, Rule, Turn

HOW = """\
from torch.utils.checkpoint import checkpoint
y = checkpoint(block, x, use_reentrant=False)   # then raise the batch
"""

FULL = 0.85
"""Above this use of device memory a larger batch does not fit."""
PRICE = 0.25
"""Share of the step that computing forward once more takes (a third more work), which the larger
batch must gain first."""


def applies(case: Case) -> str | None:
    """Training whose larger batch would pay, on a device whose memory is full."""
    if not case.signs.mode.training or not is_host_bound(case) or is_saturated(case):
        return None
    used, edit = case.live.memory_used, smallest_worth_it(case)
    saved = gain(case, edit) if edit else None
    if not over(used, FULL) or not over(saved, PRICE):
        return None
    return (
        f"A larger batch would gain {saved:.0%} for each sample, but {used:.0%} of the memory is "
        "used; checkpointing makes room at the price of about a third more device work."
    )


def most(case: Case) -> float:
    """What the larger batch gains."""
    edit = smallest_worth_it(case)
    return (gain(case, edit) if edit else None) or 0.0


RULE = Rule(
    id="checkpointing",
    title="Checkpoint activations to make room for a larger batch.",
    how=HOW,
    stop_when="the batch fits, or samples per second fall",
    does_not_help="a busy device: there it is a pure loss of about 30%",
    applies=applies,
    attacks=HOST,
    turn=Turn.TRADE,
    risk=Risk.SHAPES,
    most=most,
    no_estimate="how much memory it frees is not in a recording of times",
    costs=Costs(
        memory="activations of a few layers instead of all",
        numerics="none; about 30% more device work",
    ),
)
