"""Let torch point at every wait."""

from __future__ import annotations

from boundby.prescribe.case import Case
from boundby.prescribe.prescription import Costs
from boundby.prescribe.readings import NOTICEABLE, millis, share
from boundby.prescribe.rule import Risk, Rule, Turn

HOW = """\
torch.cuda.set_sync_debug_mode("warn")      # "error" in a test
# or record with with_stack=True, or: boundby run
"""


def applies(case: Case) -> str | None:
    """Waits cost a notable part of the step, and no line of code is known for them."""
    if share(case, "sync") < NOTICEABLE or any(row.where for row in case.syncs):
        return None
    return (
        f"Waits cost {millis(case, 'sync'):.3g} ms of the step, and the recording holds no Python "
        "frames to tell where."
    )


RULE = Rule(
    id="find-syncs",
    title="Find where the host waits: sync debug mode for a few steps.",
    how=HOW,
    stop_when="each wait is known to be wanted",
    does_not_help="waits inside torch.cuda.synchronize(), which the mode does not report",
    applies=applies,
    attacks=("sync",),
    turn=Turn.OUT_OF_LOOP,
    risk=Risk.NONE,
    no_estimate="it finds the waits and removes none",
    costs=Costs(memory="none"),
)
