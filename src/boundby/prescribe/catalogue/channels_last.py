"""Keep images in the layout that convolutions want."""

from __future__ import annotations

from boundby.prescribe.case import Case
from boundby.prescribe.prescription import Costs
from boundby.prescribe.readings import PAYS, is_device_bound, of_device, over
from boundby.prescribe.rule import DEVICE, Risk, Rule, Turn

HOW = """\
model = model.to(memory_format=torch.channels_last)
batch = batch.to("cuda", memory_format=torch.channels_last)
"""


def applies(case: Case) -> str | None:
    """Convolutions on tensor cores turn their operands round each time."""
    layout, precision = case.signs.layout, case.signs.precision
    if not is_device_bound(case) or not over(layout.transposes, PAYS) or layout.grouped:
        return None
    if not (precision.half or 0.0) + (precision.tf32 or 0.0):
        return None
    return (
        f"Turning images from NCHW to NHWC and back for the convolutions takes "
        f"{layout.transposes:.0%} of the device's time."
    )


def most(case: Case) -> float | None:
    """All that turning takes."""
    return of_device(case, case.signs.layout.transposes)


RULE = Rule(
    id="channels-last",
    title="Keep model and images in channels_last.",
    how=HOW,
    stop_when="no kernel turns layouts any more",
    does_not_help="fp32 convolutions off the tensor cores (seen to get slower), grouped "
    "convolutions (seen to get much slower), and a model that mixes layouts",
    applies=applies,
    attacks=DEVICE,
    turn=Turn.LAYOUT,
    risk=Risk.SHAPES,
    most=most,
    answers=("layout",),
    no_estimate="other kernels are chosen for the other layout",
    costs=Costs(
        memory="none once converted; a second copy while it is",
        shapes="operators that know no channels_last turn it back",
    ),
)
