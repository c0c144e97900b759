"""Send gradients in half of the bytes."""

from __future__ import annotations

from boundby.prescribe.case import Case
from boundby.prescribe.collectives import EXPOSED, exposed, is_exposed, of_gradients
from boundby.prescribe.prescription import Costs
from boundby.prescribe.readings import share
from boundby.prescribe.rule import Risk, Rule, Turn

HOW = """\
from torch.distributed.algorithms.ddp_comm_hooks import default_hooks
model.register_comm_hook(None, default_hooks.bf16_compress_hook)
# FSDP: MixedPrecisionPolicy(reduce_dtype=torch.bfloat16)
# compare the loss curve with the one before
"""

HALF = 0.5


def applies(case: Case) -> str | None:
    """Training whose gradients are reduced across ranks, and nothing hides it."""
    part = of_gradients(case)
    if not is_exposed(case) or not case.signs.mode.training or not part:
        return None
    return (
        f"{exposed(case)}; {part:.0%} of what collectives take reduces gradients, which bf16 sends "
        "in half of the bytes of fp32."
    )


def most(case: Case) -> float:
    """Half of what reducing gradients takes."""
    return HALF * of_gradients(case) * share(case, EXPOSED)


RULE = Rule(
    id="compress-gradients",
    title="Exchange gradients in bf16.",
    how=HOW,
    stop_when="gradients travel in 16 bits",
    does_not_help="gradients that are in 16 bits already, small messages limited by latency, or a "
    "slow rank",
    applies=applies,
    attacks=(EXPOSED,),
    turn=Turn.OUT_OF_LOOP,
    risk=Risk.NUMERICS,
    no_estimate="what a collective waits for on other ranks is not in this recording",
    most=most,
    answers=("communication-bound",),
    costs=Costs(
        memory="a copy of each bucket in bf16",
        numerics="sums of gradients keep 8 bits of mantissa: compare loss curves",
    ),
)
