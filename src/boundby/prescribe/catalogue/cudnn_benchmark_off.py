"""Stop cuDNN from trying algorithms in every step."""

from __future__ import annotations

from boundby.prescribe.case import Case
from boundby.prescribe.prescription import Costs
from boundby.prescribe.rule import Risk, Rule, Turn

HOW = """\
torch.backends.cudnn.benchmark = False
# or keep it, and pad images to a few sizes that come again and again
"""


def applies(case: Case) -> str | None:
    """Algorithms are tried out inside steps, or sizes change while benchmark is on."""
    tries = bool(case.signs.layout.autotunes)
    varies = case.live.cudnn_benchmark is True and case.signs.mode.shapes_vary is True
    if not tries and not varies:
        return None
    seen = "tried out inside the recorded steps" if tries else "tried out for every new size"
    return f"Convolution algorithms are {seen}."


RULE = Rule(
    id="cudnn-benchmark-off",
    title="Turn cudnn.benchmark off, or use a few fixed sizes.",
    how=HOW,
    stop_when="steps after the warm-up try no algorithms",
    does_not_help="sizes that never change: there it costs only the first step",
    applies=applies,
    attacks=("device-compute", "device-memory", "submission"),
    turn=Turn.SWITCH,
    risk=Risk.NONE,
    no_estimate="trials are not told from the convolutions they are for; other figures hold them",
    costs=Costs(memory="less: no workspaces for trials"),
)
