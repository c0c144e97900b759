"""Find the rank that the others wait for."""

from __future__ import annotations

from boundby.prescribe.case import Case
from boundby.prescribe.collectives import exposed, is_exposed
from boundby.prescribe.prescription import Costs
from boundby.prescribe.rule import Risk, Rule, Turn

HOW = """\
boundby trace rank0.json.gz rank1.json.gz       # all ranks, the same steps
# the rank with the shortest collectives is the one that others wait for:
# look at what it does before them (loading, waits, more samples)
"""


def applies(case: Case) -> str | None:
    """Exposed communication, which in a recording of one rank holds the waiting for others."""
    if not is_exposed(case):
        return None
    return (
        f"{exposed(case)}. A collective ends when the last rank has come: where it is long, this "
        "rank may only be waiting for another."
    )


RULE = Rule(
    id="find-slow-rank",
    title="Compare the recordings of all ranks, and fix the one the others wait for.",
    how=HOW,
    stop_when="collectives take about as long on every rank",
    does_not_help="ranks that arrive together: there the time is spent sending",
    applies=applies,
    attacks=("device-communication",),
    turn=Turn.OUT_OF_LOOP,
    risk=Risk.NONE,
    no_estimate="a recording of one rank does not tell sending from waiting",
    answers=("communication-bound",),
    costs=Costs(memory="none"),
)
