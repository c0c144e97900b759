"""Run products in bf16."""

from __future__ import annotations

from boundby.prescribe.capability import has_bf16
from boundby.prescribe.case import Case
from boundby.prescribe.prescription import Costs
from boundby.prescribe.readings import NOTICEABLE, is_device_bound
from boundby.prescribe.rule import DEVICE, Risk, Rule, Turn

HOW = """\
# first: keep loss and gradients in fp32 as reference (boundby check)
with torch.autocast("cuda", dtype=torch.bfloat16):  # weights stay fp32
    loss = F.cross_entropy(model(batch), target)
loss.backward()                                     # no GradScaler
"""


def applies(case: Case) -> str | None:
    """A device-bound step with products in more than 16 bits on a device that has bf16."""
    precision = case.signs.precision
    if not is_device_bound(case) or precision.fp32 is None:
        return None
    if has_bf16(case.caliber.device) is False or case.live.fp32_checked is False:
        return None
    wide = precision.fp32 + (precision.tf32 or 0.0)
    if wide < NOTICEABLE:
        return None
    why = f"Products in fp32 or TF32 take {wide:.0%} of the device's time; bf16 also halves bytes."
    unknown = has_bf16(case.caliber.device) is None
    return f"{why} (bf16 needs Ampere, MI200 or later: check the device.)" if unknown else why


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
    costs=Costs(
        memory="activations halve; parameters, gradients and optimizer state do not",
        numerics="8 bits of mantissa: keep the loss, norms and sums in fp32; compare loss curves",
    ),
)
