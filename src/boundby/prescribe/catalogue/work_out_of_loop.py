"""Move what is not computing out of the loop."""

from __future__ import annotations

from boundby.prescribe.case import Case
from boundby.prescribe.prescription import Costs
from boundby.prescribe.readings import at, millis, share
from boundby.prescribe.rule import Risk, Rule, Turn

HOW = """\
if step % 100 == 0:                 # log and format now and then
    writer.add_scalar("loss", running.item() / 100, step)
# hooks, shape checks, dicts, strings: build once before the loop, reuse
"""


PYTHON_FACT = "python-function"
"""Evidence that names the most expensive Python function, where stacks were recorded."""
LEADS = 0.10
"""Below a tenth of the step, Python is the framework's own glue, which cannot be moved."""


def applies(case: Case) -> str | None:
    """Python between the operators takes a notable part of the step."""
    if share(case, "python") < LEADS:
        return None
    fact = case.evidence.get(PYTHON_FACT)
    return (
        f"Python between the operators takes {millis(case, 'python'):.3g} ms, "
        f"{share(case, 'python'):.0%} of the step{at(fact.where) if fact else ''}."
    )


RULE = Rule(
    id="work-out-of-loop",
    title="Move logging, hooks and other Python out of the step.",
    how=HOW,
    stop_when="nothing but forward, backward and update is left in the loop",
    does_not_help="Python that is hidden behind a busy device",
    applies=applies,
    attacks=("python",),
    turn=Turn.OUT_OF_LOOP,
    risk=Risk.SHAPES,
    edit="no_python",
    answers=("python-bound",),
    costs=Costs(memory="none"),
)
