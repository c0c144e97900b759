"""Run products in fp16 where the device has nothing better."""

from __future__ import annotations

from boundby.prescribe.capability import has_fp16_only
from boundby.prescribe.case import Case
from boundby.prescribe.prescription import Costs
from boundby.prescribe.readings import NOTICEABLE, device_leads, of_device, over
from boundby.prescribe.rule import DEVICE, Risk, Rule, Turn

HOW = """\
# first: keep loss and gradients in fp32 as reference (boundby check)
scaler = torch.amp.GradScaler("cuda")
with torch.autocast("cuda", dtype=torch.float16):
    loss = F.cross_entropy(model(batch), target)
scaler.scale(loss).backward(); scaler.step(optimizer); scaler.update()
"""


def applies(case: Case) -> str | None:
    """A device-bound step in fp32 on a device whose tensor cores take fp16 alone."""
    fp32 = case.signs.precision.fp32
    if not device_leads(case) or not over(fp32, NOTICEABLE):
        return None
    if not has_fp16_only(case.caliber.device) or case.live.fp32_checked is False:
        return None
    return (
        f"Products in fp32 take {fp32:.0%} of the device's time; the tensor cores of "
        f"{case.caliber.device} take fp16, not bf16 or TF32."
    )


def most(case: Case) -> float | None:
    """All of the products."""
    return of_device(case, case.signs.precision.fp32)


RULE = Rule(
    id="fp16",
    title="Run matrix products in fp16 with loss scaling.",
    how=HOW,
    stop_when="matrix products run near the tensor-core ceiling",
    does_not_help="a launch-bound step, devices without tensor cores, and devices that have bf16",
    applies=applies,
    attacks=DEVICE,
    turn=Turn.PRECISION,
    risk=Risk.CONSTRAINTS,
    most=most,
    answers=("precision",),
    no_estimate="measured only for bf16 and TF32",
    costs=Costs(
        memory="activations halve",
        numerics="gradients below 6e-5 lose bits, values above 65504 overflow: GradScaler; "
        "compare loss curves",
    ),
)
