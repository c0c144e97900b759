"""Load batches in worker processes, or in more of them."""

from __future__ import annotations

import math
from dataclasses import replace

from boundby.evidence.words import counted
from boundby.prescribe.case import Case
from boundby.prescribe.prediction import Prediction, replayed
from boundby.prescribe.prescription import Costs
from boundby.prescribe.readings import NOTICEABLE, millis, share
from boundby.prescribe.rule import Risk, Rule, Turn

HOW = """\
loader = DataLoader(dataset, batch_size, num_workers=4,
                    persistent_workers=True)
# more until the wait is gone or the cores are used up
"""


EDIT = "no_data_wait"
TRAVEL_MS = 1.0
"""What a batch takes between processes, about: with four workers that were early, 0.93 ms of
waiting for a batch of 3 MB were left (H200 host, tests/real/unmeasured). One that loads faster than
that is loaded more slowly by workers."""


def applies(case: Case) -> str | None:
    """The step waits for batches, and more processes could load them."""
    loading, wait = case.signs.loading, millis(case, "data")
    if share(case, "data") < NOTICEABLE or wait < TRAVEL_MS:
        return None
    if _all_cores_used(case):
        return None
    by = "the training process itself loads" if loading.in_process else "the workers are late"
    by = "it comes late" if loading.in_process is None else by
    return (
        f"The step waits {wait:.3g} ms for its batch ({share(case, 'data'):.0%}): {by}."
        f"{_needed(case)}"
    )


def _needed(case: Case) -> str:
    """How many workers would keep up, and why."""
    rest, factor = _rest(case), _factor(case)
    if factor is None:
        return ""
    after = f" The rest of the step takes {rest:.3g} ms: "
    workers = _workers(case, factor)
    if workers is None:
        return (
            f"{after}{factor:.3g} times as many workers would keep up ({math.ceil(2 * factor)} for "
            "2), cores permitting."
        )
    cores = case.live.cores
    limit = "cores permitting" if cores is None else f"on {cores} cores"
    return f"{after}{counted(workers, 'worker')} would keep up, {limit}."


def _rest(case: Case) -> float:
    """The step with its batch at hand, ms."""
    found = replayed(case, EDIT)
    return case.step.estimate - millis(case, "data") if found is None else found.step_ms


def _factor(case: Case) -> float | None:
    """How many times as fast batches must come; None where nothing else is in the step.

    Workers that are late deliver one batch a step; the process itself loads one a wait.
    """
    rest = _rest(case)
    if rest <= 0:
        return None
    late = case.signs.loading.in_process is False
    return (case.step.estimate if late else millis(case, "data")) / rest


def _workers(case: Case, factor: float) -> int | None:
    """Workers that would keep up; None where those of today are not counted."""
    if case.signs.loading.in_process is not False:
        return math.ceil(factor)
    return math.ceil(factor * case.live.workers) if case.live.workers else None


def predict(case: Case) -> Prediction | None:
    """The step with its batch at hand; one that the process loads itself then has to travel."""
    found = replayed(case, EDIT)
    if found is None or not case.signs.loading.in_process:
        return found
    step, high = (each + TRAVEL_MS for each in (found.step_ms, found.high))
    return replace(found, step_ms=step, high=high)


def fit(case: Case) -> str:
    """With as many workers as would keep up, and no more than cores."""
    factor = _factor(case)
    if factor is None:
        return HOW
    workers, cores = _workers(case, factor), case.live.cores
    if workers is None:
        return HOW.replace("=4,", f"=ceil({factor:.3g} * workers),").replace(
            "# more", "# workers: as many as now; more"
        )
    return HOW.replace("=4,", f"={workers if cores is None else min(workers, cores)},")


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
    edit=EDIT,
    predict=predict,
    fit=fit,
    answers=("data-loading",),
    costs=Costs(memory="host memory for each worker and its prefetched batches"),
)
