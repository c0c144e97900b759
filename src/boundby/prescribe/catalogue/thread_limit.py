"""Give each process its share of the cores."""

from __future__ import annotations

from boundby.prescribe.case import Case
from boundby.prescribe.prescription import Costs
from boundby.prescribe.rule import HOST, Risk, Rule, Turn

HOW = """\
export OMP_NUM_THREADS=4            # cores / processes on this machine
torch.set_num_threads(4)
def one_thread(_): torch.set_num_threads(1)
loader = DataLoader(dataset, num_workers=4, worker_init_fn=one_thread)
"""


def applies(case: Case) -> str | None:
    """More threads than cores want to run."""
    cores, threads, workers = case.live.cores, case.live.threads, case.live.workers
    if cores is None or threads is None:
        return None
    each = case.live.worker_threads or 1
    wanted = threads + (workers or 0) * (each if each >= cores else 1)
    if wanted <= cores:
        return None
    if workers and each >= cores:
        return (
            f"{workers} loader workers run up to {each} threads each on {cores} cores: each takes "
            "all of them."
        )
    return (
        f"{threads} operator threads and {workers or 0} loader workers share {cores} cores: they "
        "take turns with the thread that submits."
    )


RULE = Rule(
    id="thread-limit",
    title="Limit threads and workers to the cores there are.",
    how=HOW,
    stop_when="threads and workers together are no more than the cores",
    does_not_help="a machine with cores to spare",
    applies=applies,
    attacks=("data", *HOST),
    turn=Turn.OUT_OF_LOOP,
    risk=Risk.NONE,
    no_estimate="what threads lose to each other is not in a recording of one process",
    costs=Costs(memory="none"),
)
