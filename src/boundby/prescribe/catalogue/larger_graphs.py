"""Compile fewer and larger regions."""

from __future__ import annotations

from boundby.prescribe.case import Case
from boundby.prescribe.prescription import Costs
from boundby.prescribe.readings import is_host_bound, over
from boundby.prescribe.rule import HOST, Risk, Rule, Turn

HOW = """\
TORCH_LOGS=graph_breaks,recompiles python train.py     # what splits the graph, and why
step = torch.compile(step, fullgraph=True)             # the whole step, not its layers
"""
SEVERAL = 2


def applies(case: Case) -> str | None:
    """A host-bound step that enters compiled code several times."""
    calls = case.signs.mode.compiled_calls
    if not is_host_bound(case) or not over(calls, SEVERAL) or case.signs.mode.in_graphs:
        return None
    return (
        f"A step enters compiled code {calls:.3g} times; each entry checks its guards before "
        "anything runs."
    )


RULE = Rule(
    id="larger-graphs",
    title="Compile the step as one graph: remove graph breaks.",
    how=HOW,
    stop_when="the step enters compiled code once",
    does_not_help="a busy device, behind which the guards are hidden; tiny operators, which are "
    "better left eager",
    applies=applies,
    attacks=HOST,
    turn=Turn.FUSE,
    risk=Risk.SHAPES,
    no_estimate="guards are not told from other Python",
    costs=Costs(shapes="control flow on values must go", compile="longer: the graph is larger"),
)
