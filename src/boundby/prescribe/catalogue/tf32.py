"""Let fp32 matrix products use the tensor cores."""

from __future__ import annotations

from boundby.prescribe.capability import has_tf32
from boundby.prescribe.case import Case
from boundby.prescribe.prescription import Costs
from boundby.prescribe.readings import NOTICEABLE, is_device_bound, over
from boundby.prescribe.rule import Risk, Rule, Turn

HOW = """\
# first: keep loss and gradients in fp32 as reference (boundby check)
torch.set_float32_matmul_precision("high")      # matrix products
torch.backends.cudnn.allow_tf32 = True          # convolutions
"""


def applies(case: Case) -> str | None:
    """A device-bound step with products in full fp32 on a device that could do better."""
    fp32 = case.signs.precision.fp32
    if not is_device_bound(case) or not over(fp32, NOTICEABLE):
        return None
    if has_tf32(case.caliber.device) is False or case.live.fp32_checked is False:
        return None
    why = f"Matrix products and convolutions in full fp32 take {fp32:.0%} of the device's time."
    unknown = has_tf32(case.caliber.device) is None
    return f"{why} (TF32 needs Ampere or later: check the device.)" if unknown else why


RULE = Rule(
    id="tf32",
    title="Allow TF32: fp32 products on the tensor cores.",
    how=HOW,
    stop_when="matrix products run near the tensor-core ceiling",
    does_not_help="a launch-bound step; devices without TF32; programs without a passed "
    "correctness test in fp32",
    applies=applies,
    attacks=("device-compute",),
    turn=Turn.PRECISION,
    risk=Risk.SHAPES,
    edit="tf32",
    costs=Costs(numerics="products keep 10 bits of the mantissa; sums stay fp32"),
)
