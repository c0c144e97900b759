"""Compile fewer and larger regions."""

from __future__ import annotations

from boundby.evidence.words import often
from boundby.prescribe.case import Case
from boundby.prescribe.prescription import Costs
from boundby.prescribe.readings import is_host_bound, over, share
from boundby.prescribe.rule import HOST, Risk, Rule, Turn

HOW = """\
TORCH_LOGS=graph_breaks,recompiles python train.py   # what breaks it
step = torch.compile(step, fullgraph=True)           # not its layers
"""

SEVERAL = 2
GUARDED = 0.1
"""Share of host time in guards that fewer or larger graphs are worth working for."""


def applies(case: Case) -> str | None:
    """A host-bound step that enters compiled code several times, or guards it at length."""
    mode = case.signs.mode
    if not is_host_bound(case) or mode.in_graphs or not mode.compiled_calls:
        return None
    if mode.compiled_calls < SEVERAL and not over(mode.guards, GUARDED):
        return None
    guards = f" ({mode.guards:.0%} of host time)" if mode.guards is not None else ""
    return (
        f"A step enters compiled code {often(mode.compiled_calls)}; each entry checks its guards "
        f"before anything runs{guards}."
    )


def most(case: Case) -> float:
    """All guards; all host time where they are not marked."""
    guards = case.signs.mode.guards
    return share(case, *HOST) * (1.0 if guards is None else guards)


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
    most=most,
    answers=("guard", "graph-break"),
    no_estimate="guards are not told from other Python",
    costs=Costs(
        memory="none beyond that of compiling",
        shapes="control flow on values must go",
        compile="longer: the graph is larger",
    ),
)
