"""Use fused normalisations."""

from __future__ import annotations

from boundby.evidence.words import counted
from boundby.prescribe.case import Case
from boundby.prescribe.prescription import Costs
from boundby.prescribe.readings import PAYS, is_host_bound, over
from boundby.prescribe.rule import HOST, Risk, Rule, Turn

HOW = """\
# for x * rsqrt(x.pow(2).mean(-1, keepdim=True) + eps) * weight:
y = F.rms_norm(x, x.shape[-1:], weight, eps)
y = F.layer_norm(x, x.shape[-1:], weight, bias, eps)
"""


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
    no_estimate="no measured twin of this change exists to predict it from",
    costs=Costs(numerics="rounding; sums inside are fp32"),
)
