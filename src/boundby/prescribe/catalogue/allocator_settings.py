"""Let segments grow where sizes vary."""

from __future__ import annotations

from boundby.evidence.words import often
from boundby.prescribe.case import Case
from boundby.prescribe.prescription import Costs
from boundby.prescribe.readings import over
from boundby.prescribe.rule import HOST, Risk, Rule, Turn

HOW = """\
export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True
# alone: with max_split_size_mb as well, reserved memory keeps growing
"""

STRANDED = 0.10
"""A tenth of the memory reserved and not allocated, at the peak, is more than passing cache."""


def applies(case: Case) -> str | None:
    """Steps ask for memory because sizes vary, or much of what is reserved cannot be used."""
    allocations, stranded = case.signs.allocations, case.live.memory_stranded
    if over(stranded, STRANDED):
        return f"{stranded:.0%} of the device's memory is reserved but not allocated at the peak."
    grows = over(allocations.calls, 1) and not over(allocations.frees, 1)
    if not grows or not case.signs.mode.shapes_vary:
        return None
    return (
        f"Sizes vary from step to step, and a step asks the driver for memory "
        f"{often(allocations.calls or 0.0)}."
    )


RULE = Rule(
    id="allocator-settings",
    title="Let the allocator's segments grow: expandable_segments.",
    how=HOW,
    stop_when="steps hold no cudaMalloc, and reserved memory stays near allocated memory",
    does_not_help="fixed sizes after the first steps; max_split_size_mb cures fragmentation too, "
    "but was seen to halve the speed",
    applies=applies,
    attacks=("sync", *HOST),
    turn=Turn.TRADE,
    risk=Risk.SHAPES,
    edit="no_allocator_calls",
    answers=("allocator",),
    costs=Costs(
        memory="less reserved: segments grow as they are needed",
        shapes="not with every way of sharing memory between processes",
    ),
)
