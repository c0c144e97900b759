"""Do in one operation what a Python loop does slice by slice."""

from __future__ import annotations

from boundby.prescribe.case import Case
from boundby.prescribe.prescription import Costs
from boundby.prescribe.readings import NOTICEABLE, share
from boundby.prescribe.rule import HOST, Risk, Rule, Turn

HOW = """\
xW = x @ W                          # all t at once, out of the loop
for t in range(steps):              # what depends on the step before
    h = torch.tanh(xW[:, t] + h @ U)
"""


def applies(case: Case) -> str | None:
    """A short pattern of operators repeats on slices of a tensor."""
    origins = case.signs.origins
    if origins.python_loop is None or origins.python_loop < NOTICEABLE:
        return None
    repeats = f" repeated {origins.loop_repeats:.0f} times a step" if origins.loop_repeats else ""
    return f"{origins.python_loop:.0%} of the launches come from one short pattern{repeats}."


def most(case: Case) -> float:
    """Its share of the launches."""
    return share(case, *HOST) * (case.signs.origins.python_loop or 0.0)


RULE = Rule(
    id="vectorize-loop",
    title="Take work out of the Python loop over slices: do it for all at once.",
    how=HOW,
    stop_when="only what depends on the previous iteration is left in the loop",
    does_not_help="a loop in which everything depends on the iteration before: compile or graph "
    "the loop instead",
    applies=applies,
    attacks=HOST,
    turn=Turn.VECTORIZE,
    risk=Risk.SHAPES,
    most=most,
    no_estimate="it is not seen what in the pattern does not depend on the iteration before",
    edit="vectorized",
    costs=Costs(memory="the results of all iterations at once", numerics="rounding only"),
)
