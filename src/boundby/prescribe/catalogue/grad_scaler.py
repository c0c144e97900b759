"""Scale the loss of training in fp16."""

from __future__ import annotations

from boundby.prescribe.case import Case
from boundby.prescribe.prescription import Costs
from boundby.prescribe.rule import DEVICE, Risk, Rule, Turn

HOW = """\
scaler = torch.amp.GradScaler("cuda")
scaler.scale(loss).backward()
scaler.step(optimizer)
scaler.update()
# or: torch.autocast("cuda", torch.bfloat16), which needs no scaler
"""


def applies(case: Case) -> str | None:
    """Training in fp16 without a scaler."""
    if not case.live.unscaled_fp16:
        return None
    return (
        "The program trains under autocast in fp16, and nothing scales its loss: small gradients "
        "become zero."
    )


RULE = Rule(
    id="grad-scaler",
    title="Scale the loss, or train in bf16.",
    how=HOW,
    stop_when="gradients are scaled, or in bf16",
    does_not_help="inference: there are no gradients",
    applies=applies,
    attacks=DEVICE,
    turn=Turn.SWITCH,
    risk=Risk.NONE,
    no_estimate="it is about what is learned, not about time",
    costs=Costs(memory="none"),
)
