"""Create small tensors where they are used."""

from __future__ import annotations

from boundby.evidence.words import often
from boundby.prescribe.case import Case
from boundby.prescribe.rule import Risk, Rule, Turn

HOW = """\
scale = torch.full((), 0.5, device=x.device)     # for torch.tensor(0.5)
index = torch.arange(n, device=x.device)         # for torch.tensor([...])
# constants: build once before the loop, register_buffer on the module
"""


def applies(case: Case) -> str | None:
    """Values and short lists are copied to the device from Python."""
    small = case.signs.uploads.small
    if small is None or small < 1:
        return None
    return (
        f"Values or short lists are copied from Python to the device {often(small)} a step: each "
        "is built on the host, staged and waited for."
    )


RULE = Rule(
    id="build-on-device",
    title="Create small tensors on the device, once.",
    how=HOW,
    stop_when="no copy of a few bytes is left in the step",
    does_not_help="values that really come from outside in each step: collect them in one copy",
    applies=applies,
    attacks=("sync", "python", "submission"),
    turn=Turn.OUT_OF_LOOP,
    risk=Risk.NONE,
    no_estimate="the operators around these copies are not told from others",
)
