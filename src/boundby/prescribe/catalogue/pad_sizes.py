"""Pad matrix sizes to what tensor cores read."""

from __future__ import annotations

from boundby.prescribe.case import Case
from boundby.prescribe.prescription import Costs
from boundby.prescribe.readings import NOTICEABLE, is_device_bound, of_device, over
from boundby.prescribe.rule import Risk, Rule, Turn

HOW = """\
vocabulary = -(-vocabulary // 64) * 64  # 50257 -> 50304; mask the rest
"""


def applies(case: Case) -> str | None:
    """Products on tensor cores have sizes that are no multiples of 8."""
    odd = case.signs.precision.odd_sizes
    if not is_device_bound(case) or not over(odd, NOTICEABLE):
        return None
    return (
        f"Products on tensor cores with sizes that are no multiple of 8 take {odd:.0%} of the "
        "device's time."
    )


def most(case: Case) -> float | None:
    """All that these products take."""
    return of_device(case, case.signs.precision.odd_sizes)


RULE = Rule(
    id="pad-sizes",
    title="Pad vocabulary, hidden and channel sizes to multiples of 8 (better 64).",
    how=HOW,
    stop_when="all inner and outer sizes of large products are multiples of 8",
    does_not_help="products in full fp32, or those that take no time",
    applies=applies,
    attacks=("device-compute",),
    turn=Turn.LAYOUT,
    risk=Risk.SHAPES,
    most=most,
    no_estimate="other kernels are chosen for other sizes",
    costs=Costs(
        memory="the padding", shapes="a model of another size: old checkpoints need padding"
    ),
)
