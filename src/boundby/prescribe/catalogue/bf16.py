"""Run products in bf16."""

from __future__ import annotations

from boundby.prescribe.capability import has_bf16, in_doubt
from boundby.prescribe.case import Case
from boundby.prescribe.prescription import Costs
from boundby.prescribe.readings import NOTICEABLE, device_leads, of_device, over
from boundby.prescribe.rule import DEVICE, Risk, Rule, Turn

HOW = """\
# first: keep loss and gradients in fp32 as reference (boundby check)
with torch.autocast("cuda", dtype=torch.bfloat16):  # weights stay fp32
    loss = F.cross_entropy(model(batch), target)
loss.backward()                                     # no GradScaler
"""

NEEDS = "bf16 on matrix units needs NVIDIA's Ampere or later (no V100, no T4) or AMD's MI200"


def applies(case: Case) -> str | None:
    """A device-bound step with products in more than 16 bits on a device that has bf16."""
    able, wide = has_bf16(case.caliber.device), _wide(case)
    if not device_leads(case) or not over(wide, NOTICEABLE):
        return None
    if able is False or case.live.fp32_checked is False:
        return None
    why = f"Products in fp32 or TF32 take {wide:.0%} of the device's time; bf16 also halves bytes."
    return why if able else f"{why} {in_doubt(case.caliber.device, NEEDS)}"


def _wide(case: Case) -> float | None:
    precision = case.signs.precision
    return None if precision.fp32 is None else precision.fp32 + (precision.tf32 or 0.0)


def is_sure(case: Case) -> bool:
    """Whether the device is known to have it."""
    return has_bf16(case.caliber.device) is True


def most(case: Case) -> float | None:
    """All of the products in fp32, and half of the rest: half the bytes, twice the rate."""
    fp32 = case.signs.precision.fp32 or 0.0
    return of_device(case, fp32 + (1.0 - fp32) / 2)


RULE = Rule(
    id="bf16",
    title="Run matrix products in bf16 under autocast.",
    how=HOW,
    stop_when="matrix products run near the tensor-core ceiling",
    does_not_help="a launch-bound step (each cast is one more launch); small or sensitive "
    "models; programs without a passed correctness test in fp32",
    applies=applies,
    attacks=DEVICE,
    turn=Turn.PRECISION,
    risk=Risk.NUMERICS,
    edit="bf16",
    most=most,
    answers=("precision",),
    is_sure=is_sure,
    no_estimate="what it gains on products in TF32 was not measured",
    costs=Costs(
        memory="activations halve; parameters, gradients and optimizer state do not",
        numerics="8 bits of mantissa: keep the loss, norms and sums in fp32; compare loss curves",
    ),
)
