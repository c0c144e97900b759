"""Let workers run further ahead."""

from __future__ import annotations

from boundby.prescribe.case import Case
from boundby.prescribe.prescription import Costs
from boundby.prescribe.readings import NOTICEABLE, share
from boundby.prescribe.rule import Risk, Rule, Turn

HOW = """\
loader = DataLoader(dataset, batch_size, num_workers=workers,
                    prefetch_factor=8)
"""

MOSTLY = 0.5


def applies(case: Case) -> str | None:
    """Workers are late now and then, not always."""
    loading = case.signs.loading
    if loading.in_process is not False or share(case, "data") < NOTICEABLE:
        return None
    if not loading.late_share or loading.late_share > MOSTLY:
        return None
    return (
        f"Workers keep up most of the time: {loading.late_share:.0%} of the batches are late, the "
        f"slowest by {loading.longest_ms or 0.0:.3g} ms."
    )


RULE = Rule(
    id="prefetch-deeper",
    title="Let workers prefetch more batches, to even out slow ones.",
    how=HOW,
    stop_when="no batch is late",
    does_not_help="workers that are too slow on average: a deeper queue empties as well",
    applies=applies,
    attacks=("data",),
    turn=Turn.OUT_OF_LOOP,
    risk=Risk.NONE,
    edit="no_data_wait",
    answers=("data-loading",),
    costs=Costs(memory="host memory for workers times prefetch_factor batches, pinned if pinned"),
)
