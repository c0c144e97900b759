"""Load batches in worker processes, or in more of them."""

from __future__ import annotations

from boundby.prescribe.case import Case
from boundby.prescribe.prescription import Costs
from boundby.prescribe.readings import NOTICEABLE, millis, share
from boundby.prescribe.rule import Risk, Rule, Turn

HOW = """\
loader = DataLoader(dataset, batch_size, num_workers=4,
                    persistent_workers=True)
# double num_workers until the wait is gone or the cores are used up
"""


WORTH_A_PROCESS_MS = 1.0
"""A batch that loads faster than it travels between processes (about a millisecond) is loaded
more slowly by workers."""


def applies(case: Case) -> str | None:
    """The step waits for batches, and more processes could load them."""
    loading, wait = case.signs.loading, millis(case, "data")
    if share(case, "data") < NOTICEABLE or wait < WORTH_A_PROCESS_MS:
        return None
    if _all_cores_used(case):
        return None
    by = "the training process itself loads" if loading.in_process else "the workers are late"
    by = "it comes late" if loading.in_process is None else by
    return f"The step waits {wait:.3g} ms for its batch ({share(case, 'data'):.0%}): {by}."


def _all_cores_used(case: Case) -> bool:
    cores, workers = case.live.cores, case.live.workers
    return cores is not None and workers is not None and workers >= cores


RULE = Rule(
    id="loader-workers",
    title="Load batches in (more) worker processes.",
    how=HOW,
    stop_when="the wait for a batch is below 2% of the step, or all cores are busy",
    does_not_help="data that is in memory already and takes no work: sending it between "
    "processes costs more; a slow disk; more workers than cores",
    applies=applies,
    attacks=("data",),
    turn=Turn.OUT_OF_LOOP,
    risk=Risk.NONE,
    edit="no_data_wait",
    costs=Costs(memory="host memory for each worker and its prefetched batches"),
)
