"""Give each launch more work: a larger batch."""

from __future__ import annotations

from boundby.prescribe.case import Case
from boundby.prescribe.prescription import Costs
from boundby.prescribe.readings import gain, is_host_bound, is_saturated, millis
from boundby.prescribe.rule import DEVICE, HOST, Risk, Rule, Turn

HOW = """\
loader = DataLoader(dataset, batch_size=4 * batch_size)
# compare samples per second, not seconds per step
"""

EDITS = ("batch_x2", "batch_x4", "batch_x8")
NEARLY_BEST = 0.9
"""A batch that reaches this fraction of the best gain is enough: the rest costs memory."""


def applies(case: Case) -> str | None:
    """The host sets the step time and the device has room for more work a launch."""
    if not is_host_bound(case) or is_saturated(case):
        return None
    kernel, edit = case.device.median_kernel_us, smallest_worth_it(case)
    running = f"; the median kernel runs {kernel:.3g} us" if kernel is not None else ""
    meant = f" The predicted step is that of {edit[-1]} times the samples." if edit else ""
    return (
        f"The device needs {millis(case, *DEVICE):.3g} of {case.step.estimate:.3g} ms{running}, "
        f"and a larger batch costs no more launches.{meant}"
    )


def smallest_worth_it(case: Case) -> str | None:
    """The smallest batch that reaches nearly the best gain for each sample."""
    gains = {edit: found for edit in EDITS if (found := gain(case, edit)) is not None}
    if not gains:
        return None
    enough = NEARLY_BEST * max(gains.values())
    return next(edit for edit in EDITS if gains.get(edit, -1.0) >= enough)


RULE = Rule(
    id="larger-batch",
    title="Give each launch more work: raise the batch size.",
    how=HOW,
    stop_when="samples per second no longer rise, or the device is busy over 90%",
    does_not_help="a saturated device (twice the batch takes twice as long), a loader that is "
    "already late, or a task whose latency counts",
    applies=applies,
    attacks=HOST,
    turn=Turn.BATCH,
    risk=Risk.SHAPES,
    edit=smallest_worth_it,
    no_estimate="how full the kernels are was not recorded",
    costs=Costs(
        memory="activations grow with the batch",
        numerics="another optimisation: adjust the learning rate and check the loss curve",
    ),
)
