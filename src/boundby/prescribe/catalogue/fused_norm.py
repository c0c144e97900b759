"""Use fused normalisations."""

from __future__ import annotations

from boundby.evidence.words import counted
from boundby.prescribe.case import Case
from boundby.prescribe.prescription import Costs
from boundby.prescribe.readings import PAYS, is_host_bound, of_device, over, share
from boundby.prescribe.rule import HOST, Risk, Rule, Turn

HOW = """\
# for x * rsqrt(x.pow(2).mean(-1, keepdim=True) + eps) * weight:
y = F.rms_norm(x, x.shape[-1:], weight, eps)
y = F.layer_norm(x, x.shape[-1:], weight, bias, eps)
"""
OPERATORS = 6
"""Of a normalisation written out: pow, mean, add, rsqrt and two products."""


def applies(case: Case) -> str | None:
    """Normalisations are written out, and their kernels or launches count."""
    norms = case.signs.norms
    if not norms.by_hand or case.signs.mode.compiled:
        return None
    if not over(norms.device_share, PAYS) and not is_host_bound(case):
        return None
    return (
        f"Made of single operators: {counted(norms.by_hand, 'normalisation')} a step, "
        f"{norms.device_share or 0.0:.0%} of the device's time."
    )


def most(case: Case) -> float | None:
    """What its kernels take of the device, and its share of the launches of the host."""
    norms, launches = case.signs.norms, case.device.launches_per_step
    device = of_device(case, norms.device_share)
    if device is None or not launches:
        return None
    return device + share(case, *HOST) * min(OPERATORS * (norms.by_hand or 0.0) / launches, 1.0)


RULE = Rule(
    id="fused-norm",
    title="Use fused normalisations: F.layer_norm, F.rms_norm.",
    how=HOW,
    stop_when="each normalisation is one kernel",
    does_not_help="compiled code, which merges them already",
    applies=applies,
    attacks=(*HOST, "device-memory"),
    turn=Turn.FUSE,
    risk=Risk.SHAPES,
    most=most,
    no_estimate="no measured twin of this change exists to predict it from",
    costs=Costs(
        memory="less: results inside the norm are not kept",
        numerics="rounding; sums inside are fp32",
    ),
)
