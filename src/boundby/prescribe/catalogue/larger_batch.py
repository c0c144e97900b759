"""Give each launch more work: a larger batch."""

from __future__ import annotations

from boundby.prescribe.case import Case
from boundby.prescribe.prediction import BATCHES
from boundby.prescribe.prescription import Costs
from boundby.prescribe.readings import gain, is_host_bound, is_saturated, millis
from boundby.prescribe.rule import DEVICE, HOST, Risk, Rule, Turn

HOW = """\
loader = DataLoader(dataset, batch_size=4 * batch_size)
# compare samples per second, not seconds per step
"""

USUAL = 4
NEARLY_BEST = 0.8
"""A batch that reaches this fraction of the best gain is enough: the rest costs memory."""


def applies(case: Case) -> str | None:
    """The host sets the step time and the device has room for more work a launch."""
    if not is_host_bound(case) or is_saturated(case):
        return None
    kernel = case.device.median_kernel_us
    running = f"; the median kernel runs {kernel:.3g} us" if kernel is not None else ""
    return (
        f"The device needs {millis(case, *DEVICE):.3g} of {case.step.estimate:.3g} ms{running}, "
        f"and a larger batch costs no more launches{per_sample(case)}."
    )


def fit(case: Case) -> str:
    """With the batch that the prediction is for."""
    return HOW.replace(f"{USUAL} *", f"{times(case)} *")


def times(case: Case) -> int:
    """How many times the samples of today the batch should hold."""
    edit = smallest_worth_it(case)
    return BATCHES[edit] if edit else USUAL


def per_sample(case: Case) -> str:
    """``: 25.2 ms for 8 times the samples, 3.15 ms per batch of today``; empty if not replayed."""
    edit = smallest_worth_it(case)
    if edit is None:
        return ""
    step, samples = case.what_if[edit].step_ms, BATCHES[edit]
    return (
        f": {step:.3g} ms for {samples} times the samples, {step / samples:.3g} ms per batch of "
        "today"
    )


def smallest_worth_it(case: Case) -> str | None:
    """The smallest batch that reaches nearly the best gain for each sample."""
    gains = {edit: found for edit in BATCHES if (found := gain(case, edit)) is not None}
    if not gains:
        return None
    enough = NEARLY_BEST * max(gains.values())
    return next(edit for edit in BATCHES if gains.get(edit, -1.0) >= enough)


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
    fit=fit,
    answers=("launch-bound",),
    no_estimate="how full the kernels are was not recorded",
    costs=Costs(
        memory="activations grow with the batch",
        numerics="another optimisation: adjust the learning rate and check the loss curve",
    ),
)
