"""Give convolutions room for faster algorithms."""

from __future__ import annotations

from boundby.prescribe.case import Case
from boundby.prescribe.prescription import Costs
from boundby.prescribe.readings import NOTICEABLE, is_device_bound, of_device, over
from boundby.prescribe.rule import Risk, Rule, Turn

HOW = """\
torch.backends.cudnn.benchmark_limit = 0    # default: 10 candidates
"""

ROOM = 0.7
"""Below this use of device memory there is room for workspaces."""


def applies(case: Case) -> str | None:
    """Benchmarked convolutions, and memory to spare."""
    used, layout = case.live.memory_used, case.signs.layout
    if used is None or used >= ROOM or case.live.cudnn_benchmark is not True:
        return None
    if not is_device_bound(case) or not over(layout.convolutions, NOTICEABLE):
        return None
    return (
        f"Convolutions take {layout.convolutions:.0%} of the device's time and {1 - used:.0%} of "
        "its memory is free: faster algorithms need workspace."
    )


def most(case: Case) -> float | None:
    """All that convolutions take."""
    return of_device(case, case.signs.layout.convolutions)


RULE = Rule(
    id="cudnn-workspace",
    title="Let cuDNN try all algorithms, those with large workspaces too.",
    how=HOW,
    stop_when="the chosen algorithms no longer change",
    does_not_help="memory that is nearly full, where large workspaces are refused",
    applies=applies,
    attacks=("device-compute",),
    turn=Turn.TRADE,
    risk=Risk.SHAPES,
    most=most,
    no_estimate="algorithms that were not tried leave no trace",
    costs=Costs(memory="workspaces up to gigabytes", compile="a longer first step"),
)
