"""Copy batches from pinned memory without waiting."""

from __future__ import annotations

from boundby.evidence.words import figure
from boundby.prescribe.case import Case
from boundby.prescribe.prescription import Costs
from boundby.prescribe.rule import Risk, Rule, Turn

HOW = """\
loader = DataLoader(dataset, batch_size, pin_memory=True)
for batch in loader:
    # without pin_memory, non_blocking silently waits all the same
    batch = batch.to("cuda", non_blocking=True)
"""

SMALL = 0.01
"""Pageable copies below this share of the step are not batches."""


def applies(case: Case) -> str | None:
    """Batches come from memory that is not pinned."""
    uploads = case.signs.uploads
    if not uploads.pageable or uploads.pageable_ms is None:
        return None
    if uploads.pageable_ms < SMALL * case.step.estimate:
        return None
    return (
        f"Copies from pageable memory take {uploads.pageable_ms:.3g} ms a step "
        f"({figure(uploads.pageable)} of them): the host waits while they are staged, "
        "non_blocking or not."
    )


RULE = Rule(
    id="pinned-copies",
    title="Copy from pinned memory with non_blocking=True.",
    how=HOW,
    stop_when="copies run from pinned memory and the host goes on at once",
    does_not_help="non_blocking alone, from pageable memory; pinning a tensor anew each step "
    "costs more than it saves",
    applies=applies,
    attacks=("sync", "device-copy"),
    turn=Turn.OUT_OF_LOOP,
    risk=Risk.NONE,
    edit="pinned_copies",
    answers=("host-copy",),
    costs=Costs(memory="pinned host memory, which cannot be swapped: batches times prefetch depth"),
)
