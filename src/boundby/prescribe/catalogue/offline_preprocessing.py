"""Prepare the data once, before training."""

from __future__ import annotations

from boundby.prescribe.case import Case
from boundby.prescribe.prescription import Costs
from boundby.prescribe.readings import millis, share
from boundby.prescribe.rule import Risk, Rule, Turn

HOW = """\
# once:  np.array(tokens, dtype=np.uint16).tofile("train.bin")
tokens = np.memmap("train.bin", dtype=np.uint16, mode="r")
"""


LEADS = 0.2
"""From a fifth of the step on, preparing data ahead of time is worth the trouble."""


def applies(case: Case) -> str | None:
    """Waiting for data takes a large part of the step."""
    if share(case, "data") < LEADS:
        return None
    wait = case.signs.loading.wait_ms
    batch = f" (a batch takes {wait:.3g} ms)" if wait is not None else ""
    return f"The step waits {millis(case, 'data'):.3g} ms for data{batch}."


RULE = Rule(
    id="offline-preprocessing",
    title="Tokenise, decode and resize once; train from the results.",
    how=HOW,
    stop_when="the wait for a batch is below 2% of the step",
    does_not_help="random augmentation, which must happen each time; slow disks or networks",
    applies=applies,
    attacks=("data",),
    turn=Turn.OUT_OF_LOOP,
    risk=Risk.SHAPES,
    edit="no_data_wait",
    answers=("data-loading",),
    costs=Costs(memory="disk space for the results", compile="one pass over the data beforehand"),
)
