"""Allocate buffers once."""

from __future__ import annotations

from boundby.evidence.words import often
from boundby.prescribe.case import Case
from boundby.prescribe.prescription import Costs
from boundby.prescribe.readings import over
from boundby.prescribe.rule import HOST, Risk, Rule, Turn

HOW = """\
out = torch.empty(rows, columns, device="cuda")     # once, largest size
torch.matmul(a, b, out=out[:n])                     # every step
"""


def applies(case: Case) -> str | None:
    """Steps of fixed sizes still ask the driver for memory."""
    allocations = case.signs.allocations
    if not over(allocations.calls, 1) or over(allocations.frees, 1):
        return None
    if case.signs.mode.shapes_vary or case.signs.switches.uncached_memory:
        return None
    return (
        f"A step asks the driver for memory {often(allocations.calls or 0.0)} though nothing is "
        "given back: something grows, or is allocated anew."
    )


RULE = Rule(
    id="preallocate",
    title="Allocate growing buffers once, at their final size.",
    how=HOW,
    stop_when="steps hold no cudaMalloc",
    does_not_help="the first steps of a run, which always allocate: warm up before recording",
    applies=applies,
    attacks=("sync", *HOST),
    turn=Turn.TRADE,
    risk=Risk.SHAPES,
    edit="no_allocator_calls",
    answers=("allocator",),
    costs=Costs(memory="buffers of the largest size all the time", shapes="a largest size"),
)
