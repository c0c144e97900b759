"""Copy results back without stopping."""

from __future__ import annotations

from boundby.evidence.words import often
from boundby.prescribe.case import Case
from boundby.prescribe.prediction import Prediction, without_waits
from boundby.prescribe.prescription import Costs
from boundby.prescribe.readings import at, waits
from boundby.prescribe.rule import Risk, Rule, Turn

HOW = """\
host = torch.empty_like(y, device="cpu", pin_memory=True)   # once
done = torch.cuda.Event()
host.copy_(y, non_blocking=True); done.record()
...                                                         # next step
done.synchronize(); use(host)                               # not before
"""


def applies(case: Case) -> str | None:
    """The host waits for copies, and results go back to it."""
    row, uploads = waits(case, "host-copy"), case.signs.uploads
    if row is None or not uploads.to_host:
        return None
    return (
        f"The host waits for copies {often(row.count_per_step)} a step{at(row.where)}, "
        f"{uploads.to_host:.3g} of them results ({uploads.to_host_ms or 0.0:.3g} ms)."
    )


def predict(case: Case) -> Prediction | None:
    """The step without waits for copies."""
    return without_waits(case, "host-copy")


RULE = Rule(
    id="async-readback",
    title="Copy results into pinned memory and read them a step later.",
    how=HOW,
    stop_when="the host no longer waits for copies of results",
    does_not_help="a result that the next step needs; pageable memory, where non_blocking waits",
    applies=applies,
    attacks=("sync", "device-copy"),
    turn=Turn.OUT_OF_LOOP,
    risk=Risk.NUMERICS,
    edit="no_sync",
    predict=predict,
    answers=("host-copy",),
    costs=Costs(
        memory="a pinned buffer",
        numerics="none if the event is waited for; without it you read what is not there yet",
    ),
)
