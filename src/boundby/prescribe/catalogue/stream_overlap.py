"""Copy the next batch while this one is computed."""

from __future__ import annotations

from boundby.prescribe.case import Case
from boundby.prescribe.prescription import Costs
from boundby.prescribe.readings import NOTICEABLE, millis, over
from boundby.prescribe.rule import DEVICE, Risk, Rule, Turn

HOW = """\
side, main = torch.cuda.Stream(), torch.cuda.current_stream()
def fetch(batches):                         # from pinned memory
    host = next(batches, None)
    with torch.cuda.stream(side):
        return None if host is None else host.to("cuda", non_blocking=True)
batches = iter(loader)
ready = fetch(batches)
while ready is not None:                    # the last batch included
    main.wait_stream(side)                  # copied before it is used
    ready.record_stream(main)               # and not overwritten before
    current, ready = ready, fetch(batches)
    step(current)
"""

ALIKE = 3.0
"""Copies and kernels whose times differ by more than this hide little of each other."""


def applies(case: Case) -> str | None:
    """Pinned copies run alone, and take about as long as the kernels."""
    uploads = case.signs.uploads
    if not uploads.pinned or not uploads.pinned_ms or uploads.pageable:
        return None
    if not over(uploads.alone_share, 0.5) or uploads.pinned_ms < NOTICEABLE * case.step.estimate:
        return None
    kernels = millis(case, *DEVICE)
    if not kernels / ALIKE <= uploads.pinned_ms <= kernels * ALIKE:
        return None
    return (
        f"Copies of {uploads.pinned_ms:.3g} ms a step run while no kernel does, beside "
        f"{kernels:.3g} ms of kernels: of like length, they can hide each other."
    )


RULE = Rule(
    id="stream-overlap",
    title="Copy the next batch on its own stream while this one is computed.",
    how=HOW,
    stop_when="copies run beside kernels",
    does_not_help="pageable memory (pin it first), or copies much shorter or longer than the "
    "kernels: pinned memory with non_blocking is enough there",
    applies=applies,
    attacks=("device-copy",),
    turn=Turn.OUT_OF_LOOP,
    risk=Risk.NUMERICS,
    edit="overlap_copies",
    answers=("host-copy",),
    costs=Costs(
        memory="one more batch on the device",
        numerics="none if written so; without wait_stream or record_stream data is overwritten",
    ),
)
