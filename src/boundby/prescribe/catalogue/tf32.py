"""Let fp32 matrix products use the tensor cores."""

from __future__ import annotations

from boundby.prescribe.capability import has_tf32, in_doubt, is_amd
from boundby.prescribe.case import Case
from boundby.prescribe.prescription import Costs
from boundby.prescribe.readings import NOTICEABLE, device_leads, of_device, over
from boundby.prescribe.rule import Risk, Rule, Turn

HOW = """\
# first: keep loss and gradients in fp32 as reference (boundby check)
torch.set_float32_matmul_precision("high")      # matrix products
torch.backends.cudnn.allow_tf32 = True          # convolutions
"""
ROCM = "export HIPBLASLT_ALLOW_TF32=1       # on ROCm TF32 is behind this switch\n"
"""Since torch 2.7, on the MI300 family."""

NEEDS = "TF32 needs NVIDIA's Ampere or later (no V100, no T4) or AMD's MI300"


def applies(case: Case) -> str | None:
    """A device-bound step with products in full fp32 on a device that could do better."""
    fp32 = case.signs.precision.fp32
    able = has_tf32(case.caliber.device)
    if not device_leads(case) or not over(fp32, NOTICEABLE):
        return None
    if able is False or case.live.fp32_checked is False:
        return None
    why = f"Matrix products and convolutions in full fp32 take {fp32:.0%} of the device's time."
    return why if able else f"{why} {in_doubt(case.caliber.device, NEEDS)}"


def is_sure(case: Case) -> bool:
    """Whether the device is known to have it."""
    return has_tf32(case.caliber.device) is True


def most(case: Case) -> float | None:
    """All of the products."""
    return of_device(case, case.signs.precision.fp32)


def fit(case: Case) -> str:
    """With the switch that ROCm wants."""
    return ROCM + HOW if is_amd(case.caliber.device) else HOW


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
    most=most,
    fit=fit,
    answers=("precision",),
    is_sure=is_sure,
    costs=Costs(memory="none", numerics="products keep 10 bits of the mantissa; sums stay fp32"),
)
