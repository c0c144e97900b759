"""Leave freed memory to the allocator."""

from __future__ import annotations

from boundby.evidence.words import often
from boundby.prescribe.case import Case
from boundby.prescribe.prescription import Costs
from boundby.prescribe.rule import HOST, Risk, Rule, Turn

HOW = """\
# delete torch.cuda.empty_cache() from the step:
# the allocator reuses what is freed
"""


def applies(case: Case) -> str | None:
    """Memory is given back and asked for again in every step."""
    allocations = case.signs.allocations
    if not allocations.frees or not allocations.calls or allocations.frees < 1:
        return None
    if case.signs.switches.uncached_memory:
        return None
    return (
        f"A step gives memory back to the driver {often(allocations.frees)} and asks for it "
        f"{often(allocations.calls - allocations.frees)}: {allocations.host_share or 0.0:.0%} of "
        "host time, and each release waits for the device."
    )


RULE = Rule(
    id="remove-empty-cache",
    title="Take torch.cuda.empty_cache() out of the loop.",
    how=HOW,
    stop_when="steps hold no cudaMalloc and no cudaFree",
    does_not_help="a device that is really full: there the allocator gives back on its own, and a "
    "smaller batch helps",
    applies=applies,
    attacks=("sync", *HOST),
    turn=Turn.OUT_OF_LOOP,
    risk=Risk.NONE,
    edit="no_allocator_calls",
    answers=("allocator",),
    costs=Costs(memory="the cache stays reserved"),
)
