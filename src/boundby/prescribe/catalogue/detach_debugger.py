"""Detach what watches every line."""

from __future__ import annotations

from boundby.prescribe.case import Case
from boundby.prescribe.prescription import Costs
from boundby.prescribe.rule import HOST, Risk, Rule, Turn

HOW = """\
# run without the debugger, without coverage, and without sys.settrace
python train.py
"""


def applies(case: Case) -> str | None:
    """A debugger or a tracer is attached."""
    debugger = case.live.debugger
    if debugger is None:
        return None
    return (
        f"{debugger} watches the program: each line of Python pays for it. Other numbers mean "
        "little until then."
    )


RULE = Rule(
    id="detach-debugger",
    title="Detach the debugger or tracer, then measure again.",
    how=HOW,
    stop_when="nothing traces the interpreter",
    does_not_help="a step that the device sets: Python is hidden behind it",
    applies=applies,
    attacks=HOST,
    turn=Turn.SWITCH,
    risk=Risk.NONE,
    no_estimate="the recording was made under it",
    costs=Costs(memory="none"),
)
