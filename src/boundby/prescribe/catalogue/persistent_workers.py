"""Keep loader workers between epochs."""

from __future__ import annotations

from boundby.prescribe.case import Case
from boundby.prescribe.prescription import Costs
from boundby.prescribe.rule import Risk, Rule, Turn

HOW = """\
loader = DataLoader(dataset, batch_size, num_workers=workers,
                    persistent_workers=True)
"""


FAR_ABOVE = 10.0
LONG_MS = 500.0
"""Processes take a second to start and import; a wait so long beside short ones is a start."""


def applies(case: Case) -> str | None:
    """Workers start inside the recording, or one wait stands far above the others."""
    loading = case.signs.loading
    if loading.in_process is not False:
        return None
    if loading.restarts:
        return f"Inside the recording {loading.restarts} workers were started."
    longest, usual = loading.longest_ms or 0.0, loading.wait_ms or 0.0
    if longest < LONG_MS or longest < FAR_ABOVE * usual:
        return None
    return f"One batch took {longest:.0f} ms where others take {usual:.3g}: workers started anew."


def most(_: Case) -> None:
    """Starts stand between steps, and how many steps lie between them is not recorded."""


RULE = Rule(
    id="persistent-workers",
    title="Keep the workers between epochs.",
    how=HOW,
    stop_when="no epoch begins with a wait",
    does_not_help="one long epoch; a dataset that workers must see change between epochs",
    applies=applies,
    attacks=("data",),
    turn=Turn.OUT_OF_LOOP,
    risk=Risk.NONE,
    answers=("data-loading",),
    most=most,
    no_estimate="a recording of a few steps does not show how many an epoch has",
    costs=Costs(memory="the workers' memory stays in use"),
)
