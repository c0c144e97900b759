"""Create small tensors where they are used."""

from __future__ import annotations

from boundby.evidence.words import often
from boundby.prescribe.case import Case
from boundby.prescribe.prescription import Costs
from boundby.prescribe.readings import at, share, waits
from boundby.prescribe.rule import HOST, Risk, Rule, Turn

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
    where = at(case.live.built_in_loop)
    return (
        f"Values or short lists are copied from Python to the device {often(small)} a step{where}: "
        "each is built on the host, staged and waited for."
    )


def most(case: Case) -> float | None:
    """Their share of the waits for copies, and of the launches."""
    small, row = case.signs.uploads.small or 0.0, waits(case, "host-copy")
    launches = case.device.launches_per_step
    if not launches:
        return None
    waited = min(small / row.count_per_step, 1.0) if row else 0.0
    return waited * share(case, "sync") + min(small / launches, 1.0) * share(case, *HOST)


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
    most=most,
    answers=("host-copy",),
    no_estimate="the operators around these copies are not told from others",
    costs=Costs(memory="the constants stay on the device"),
)
