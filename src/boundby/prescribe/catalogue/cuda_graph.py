"""Submit the whole step with one call: a CUDA graph."""

from __future__ import annotations

from boundby.evidence.words import often
from boundby.prescribe.case import Case
from boundby.prescribe.prescription import Costs
from boundby.prescribe.readings import NOTICEABLE, is_saturated, millis, share, waits
from boundby.prescribe.rule import HOST, Risk, Rule, Turn

HOW = """\
model = torch.compile(model, mode="reduce-overhead")
# by hand: warm up on a side stream, capture with static buffers, then
with torch.cuda.graph(graph):
    static_out = model(static_in)
static_in.copy_(batch); graph.replay()      # same shapes and addresses
"""


def applies(case: Case) -> str | None:
    """Submission costs a notable part of an unsaturated step that could be captured."""
    mode = case.signs.mode
    if mode.in_graphs or mode.shapes_vary or waits(case, "data-dependent-shape"):
        return None
    if is_saturated(case) or share(case, "submission") < NOTICEABLE:
        return None
    launches = case.device.launches_per_step or 0.0
    why = (
        f"{launches:.0f} launches a step cost the host {millis(case, *HOST):.3g} of "
        f"{case.step.estimate:.3g} ms."
    )
    if share(case, "python") > share(case, "submission"):
        why += " Most of it is Python inside the step, which a graph would no longer run."
    inside = waits(case, "item") or waits(case, "explicit-sync")
    if inside:
        why += (
            f" First remove its waits ({often(inside.count_per_step)} a step): none may be inside."
        )
    return why


RULE = Rule(
    id="cuda-graph",
    title="Replay the step as one CUDA graph.",
    how=HOW,
    stop_when="the device is busy over 90%, or launch calls take less than 10% of host time",
    does_not_help="varying shapes (each is captured again), control flow that depends on values, "
    "waits inside the step, or a host that loads data rather than submits",
    applies=applies,
    attacks=(*HOST, "sync"),
    turn=Turn.GRAPH,
    risk=Risk.CONSTRAINTS,
    edit="no_submit_cost",
    costs=Costs(
        memory="a private pool for each graph, and static input and output buffers",
        shapes="fixed shapes, addresses and control flow; no waits inside; one graph a shape",
        compile="warm-up and capture, again for every new shape",
    ),
)
