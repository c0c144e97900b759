"""Keep keys and values of what was already read."""

from __future__ import annotations

from boundby.prescribe.case import Case
from boundby.prescribe.prescription import Costs
from boundby.prescribe.rule import DEVICE, HOST, Risk, Rule, Turn

HOW = """\
output = model(token, past_key_values=cache, use_cache=True)
cache = output.past_key_values                  # one new token a step
"""


def applies(case: Case) -> str | None:
    """Inference whose queries grow with its keys."""
    if case.signs.mode.training or not case.signs.attention.recomputes_prefix:
        return None
    return (
        "Each step computes attention for the whole sequence so far, not for the new token alone."
    )


RULE = Rule(
    id="kv-cache",
    title="Keep keys and values of earlier tokens.",
    how=HOW,
    stop_when="the query of a step is one token long",
    does_not_help="a single pass over a whole text, or training",
    applies=applies,
    attacks=(*DEVICE, *HOST),
    turn=Turn.TRADE,
    risk=Risk.SHAPES,
    no_estimate="the gain grows with the length of the text",
    costs=Costs(
        memory="2 x layers x width x tokens x batch elements",
        numerics="rounding only",
        shapes="one length more each step: preallocate for compiled code and graphs",
    ),
)
