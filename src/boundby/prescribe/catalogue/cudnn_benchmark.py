"""Let cuDNN try its algorithms once."""

from __future__ import annotations

from boundby.prescribe.case import Case
from boundby.prescribe.prescription import Costs
from boundby.prescribe.readings import NOTICEABLE, is_device_bound, of_device, over
from boundby.prescribe.rule import Risk, Rule, Turn

HOW = """\
torch.backends.cudnn.benchmark = True       # before the first step
"""


def applies(case: Case) -> str | None:
    """Convolutions of fixed sizes, and benchmark known to be off."""
    layout, mode = case.signs.layout, case.signs.mode
    if case.live.cudnn_benchmark is not False or mode.shapes_vary is not False:
        return None
    if not is_device_bound(case) or not over(layout.convolutions, NOTICEABLE):
        return None
    return (
        f"Convolutions take {layout.convolutions:.0%} of the device's time, their sizes do not "
        "change, and cuDNN chooses algorithms without trying them."
    )


def most(case: Case) -> float | None:
    """All that convolutions take."""
    return of_device(case, case.signs.layout.convolutions)


RULE = Rule(
    id="cudnn-benchmark",
    title="Let cuDNN try its convolution algorithms: benchmark = True.",
    how=HOW,
    stop_when="it is on: there is no more to gain from it",
    does_not_help="sizes that change: each new one is tried out for seconds",
    applies=applies,
    attacks=("device-compute",),
    turn=Turn.LAYOUT,
    risk=Risk.SHAPES,
    most=most,
    no_estimate="algorithms that were not tried leave no trace",
    costs=Costs(
        memory="workspace for the algorithms tried",
        numerics="another algorithm may be chosen in each run",
        compile="the first step of each size is slow",
    ),
)
