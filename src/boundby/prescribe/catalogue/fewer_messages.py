"""Exchange less often, and more at once."""

from __future__ import annotations

from boundby.evidence.words import counted
from boundby.prescribe.case import Case
from boundby.prescribe.collectives import EXPOSED, count, exposed, is_exposed
from boundby.prescribe.prescription import Costs
from boundby.prescribe.rule import Risk, Rule, Turn

HOW = """\
model = DDP(model, bucket_cap_mb=100)           # fewer, larger messages
for at, batch in enumerate(loader):             # one exchange in 4 batches
    with nullcontext() if at % 4 == 3 else model.no_sync():
        (loss_of(model(batch)) / 4).backward()
    if at % 4 == 3:
        optimizer.step(); optimizer.zero_grad()
"""


def applies(case: Case) -> str | None:
    """Training that spends a notable part of each step on exchanges."""
    if not is_exposed(case) or not case.signs.mode.training:
        return None
    number = count(case)
    each = f"A step makes {counted(number, 'collective')}. " if number else ""
    return f"{each}{exposed(case)}."


RULE = Rule(
    id="fewer-messages",
    title="Exchange gradients less often, in larger messages.",
    how=HOW,
    stop_when="exchanges take a few percent of the time, or larger buckets no longer help",
    does_not_help="collectives that are not of gradients (all_to_all of embeddings), a slow rank, "
    "or large messages that fill the link already",
    applies=applies,
    attacks=(EXPOSED,),
    turn=Turn.OUT_OF_LOOP,
    risk=Risk.SHAPES,
    no_estimate="what a message costs, and what it waits for, is not told apart",
    answers=("communication-bound",),
    costs=Costs(
        memory="larger buckets; gradients stay between the batches of one update",
        numerics="accumulating makes the batch of an update larger: adjust the learning rate",
    ),
)
