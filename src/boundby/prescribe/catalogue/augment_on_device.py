"""Do augmentation where there is time for it."""

from __future__ import annotations

from boundby.prescribe.case import Case
from boundby.prescribe.prescription import Costs
from boundby.prescribe.readings import share
from boundby.prescribe.rule import DEVICE, Risk, Rule, Turn

HOW = """\
batch = batch.to("cuda", non_blocking=True)
batch = augment(batch)      # torchvision.transforms.v2 take whole batches
"""


LEADS = 0.2
IDLE = 0.5
"""The device must have at least half of the step free: it will do the work instead."""


def applies(case: Case) -> str | None:
    """Data is late, and the device idles meanwhile."""
    busy = share(case, *DEVICE)
    if share(case, "data") < LEADS or busy > IDLE:
        return None
    loading = share(case, "data")
    return f"Loading takes {loading:.0%} of the step; the device works {busy:.0%} of it."


RULE = Rule(
    id="augment-on-device",
    title="Move augmentation of whole batches to the device.",
    how=HOW,
    stop_when="the device is busy over 90%, or loading is no longer late",
    does_not_help="loading that spends its time reading and decoding, or a device that is busy",
    applies=applies,
    attacks=("data",),
    turn=Turn.OUT_OF_LOOP,
    risk=Risk.SHAPES,
    answers=("data-loading",),
    no_estimate="how much of loading is augmentation is not recorded",
    costs=Costs(memory="raw batches on the device", numerics="other random numbers than before"),
)
