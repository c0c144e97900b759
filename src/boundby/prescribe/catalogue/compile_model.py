"""Fuse operators with torch.compile."""

from __future__ import annotations

from boundby.prescribe.case import Case
from boundby.prescribe.prescription import Costs
from boundby.prescribe.readings import NOTICEABLE, is_host_bound, over
from boundby.prescribe.rule import HOST, Risk, Rule, Turn

HOW = """\
model = torch.compile(model)
# warm up before measuring; torch._dynamo.mark_dynamic for varying sizes
"""

FEW_LAUNCHES = 10
"""Below this, the guards of a compiled call (some 50 to 200 us) cost what the launches did."""


def applies(case: Case) -> str | None:
    """Nothing is compiled yet, and operators next to each other can be merged."""
    launches = case.device.launches_per_step
    if case.signs.mode.compiled or launches is None or launches < FEW_LAUNCHES:
        return None
    chains = case.signs.origins
    if is_host_bound(case):
        merged = (
            f", {chains.elementwise:.0%} of them elementwise chains" if chains.elementwise else ""
        )
        return f"Nothing is compiled: the step makes {launches:.0f} launches{merged}."
    if over(chains.elementwise_device, NOTICEABLE):
        return (
            f"Elementwise operators next to each other take {chains.elementwise_device:.0%} of "
            "the device's time; merged, they read and write memory once."
        )
    return None


RULE = Rule(
    id="compile-model",
    title="Fuse operators: compile the model.",
    how=HOW,
    stop_when="elementwise operators are merged and the matrix products remain",
    does_not_help="steps of a few operators (the guards cost more), code full of graph breaks, "
    "and sizes that change all the time (each one compiles again)",
    applies=applies,
    attacks=(*HOST, "device-memory"),
    turn=Turn.FUSE,
    risk=Risk.SHAPES,
    edit="compile_fusion",
    costs=Costs(
        numerics="rounding only",
        shapes="each new shape may compile again",
        compile="seconds to minutes at start",
    ),
)
