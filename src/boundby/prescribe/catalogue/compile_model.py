"""Fuse operators with torch.compile."""

from __future__ import annotations

from boundby.prescribe.case import Case
from boundby.prescribe.prediction import replayed
from boundby.prescribe.prescription import Costs
from boundby.prescribe.readings import NOTICEABLE, is_host_bound, of_device, over
from boundby.prescribe.rule import HOST, Risk, Rule, Turn

HOW = """\
model = torch.compile(model)
# warm up before measuring; torch._dynamo.mark_dynamic for varying sizes
"""

EDIT = "compile_fusion"
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
        return (
            f"Nothing is compiled: the step makes {launches:.0f} launches{merged}; merged ones are "
            "submitted once, and compiled code calls the others at less cost."
        )
    if not over(chains.elementwise_device, NOTICEABLE):
        return None
    return (
        "Elementwise operators and reductions next to each other take "
        f"{chains.elementwise_device:.0%} of the device's time; merged, they read and write memory "
        f"once.{_beyond(case)}"
    )


def _beyond(case: Case) -> str:
    """What else is predicted to go where it is more than those operators take on the device."""
    found = replayed(case, EDIT)
    saved = 0.0 if found is None else case.step.estimate - found.step_ms
    chains = of_device(case, case.signs.origins.elementwise_device) or 0.0
    on_device = chains * case.step.estimate
    if saved <= on_device:
        return ""
    return (
        f" That is {on_device:.3g} ms of the step; the rest of the gain is host time: merged "
        "operators are submitted once."
    )


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
    edit=EDIT,
    answers=("cast",),
    costs=Costs(
        memory="mostly less: what is fused is not kept; with CUDA graphs a private pool",
        numerics="rounding only",
        shapes="each new shape may compile again",
        compile="seconds to minutes at start",
    ),
)
