"""Send gradients while others are still computed."""

from __future__ import annotations

from boundby.prescribe.case import Case
from boundby.prescribe.collectives import EXPOSED, exposed, is_exposed
from boundby.prescribe.prescription import Costs
from boundby.prescribe.readings import COMPUTING, millis, share
from boundby.prescribe.rule import Risk, Rule, Turn

HOW = """\
model = DDP(model, bucket_cap_mb=25,           # smaller ones leave earlier
            gradient_as_bucket_view=True, static_graph=True)
# FSDP: fully_shard() each block, not the whole model alone, and
block.set_modules_to_backward_prefetch([previous_block])
"""


def applies(case: Case) -> str | None:
    """Training whose collectives stand beside no computation."""
    if not is_exposed(case) or not case.signs.mode.training:
        return None
    return f"{exposed(case)}, and {millis(case, *COMPUTING):.3g} ms of computing could hide them."


def most(case: Case) -> float:
    """Communication cannot hide behind more computing than there is."""
    return min(share(case, EXPOSED), share(case, *COMPUTING))


RULE = Rule(
    id="overlap-communication",
    title="Exchange gradients during the backward pass.",
    how=HOW,
    stop_when="what computing can hide is hidden",
    does_not_help="a step with little to compute, or one whose collectives wait for a slow rank",
    applies=applies,
    attacks=(EXPOSED,),
    turn=Turn.OUT_OF_LOOP,
    risk=Risk.NONE,
    no_estimate="what a collective waits for on other ranks is not in this recording",
    most=most,
    answers=("communication-bound",),
    costs=Costs(
        memory="prefetched parameters with FSDP; less with gradient_as_bucket_view",
        shapes="static_graph: the same parameters take part in every step",
    ),
)
