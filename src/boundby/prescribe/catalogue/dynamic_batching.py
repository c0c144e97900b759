"""Run requests that arrive close together as one batch."""

from __future__ import annotations

from boundby.prescribe.case import Case
from boundby.prescribe.catalogue.larger_batch import USUAL, per_sample, smallest_worth_it, times
from boundby.prescribe.prescription import Costs
from boundby.prescribe.readings import is_host_bound, is_saturated, share
from boundby.prescribe.rule import HOST, Risk, Rule, Turn

HOW = """\
requests = [queue.get()]                    # wait for one
until = time.monotonic() + 0.005            # then 5 ms at most for others
most = 4 * batch_size                       # times the requests of today
while len(requests) < most and (left := until - time.monotonic()) > 0:
    try: requests.append(queue.get(timeout=left))
    except Empty: break
answers = model(pad_sequence(requests, batch_first=True))
"""


def applies(case: Case) -> str | None:
    """Inference, no loader, and a host that sets the step time."""
    if case.signs.mode.training is not False or not is_host_bound(case) or is_saturated(case):
        return None
    return (
        f"Inference spends {share(case, *HOST):.0%} of its step on the host, whatever the batch; "
        f"requests that come together can share it{per_sample(case)}."
    )


def fit(case: Case) -> str:
    """With the batch that the prediction is for."""
    return HOW.replace(f"most = {USUAL} *", f"most = {times(case)} *")


RULE = Rule(
    id="dynamic-batching",
    title="Collect requests for a few milliseconds and run them as one batch.",
    how=HOW,
    stop_when="requests per second no longer rise, or the added latency is all you can afford",
    does_not_help="one request at a time with nothing waiting: each only gets slower",
    applies=applies,
    attacks=HOST,
    turn=Turn.BATCH,
    risk=Risk.NUMERICS,
    edit=smallest_worth_it,
    fit=fit,
    no_estimate="how full the kernels are was not recorded",
    costs=Costs(
        memory="activations grow with the batch",
        shapes="padding; each request waits for the window and for the longest of its batch",
    ),
)
