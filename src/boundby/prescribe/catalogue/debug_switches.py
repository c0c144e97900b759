"""Turn off debug switches before anything else is measured."""

from __future__ import annotations

from boundby.prescribe.case import Case
from boundby.prescribe.prescription import Costs
from boundby.prescribe.rule import HOST, Risk, Rule, Turn

HOW = """\
unset CUDA_LAUNCH_BLOCKING PYTORCH_NO_CUDA_MEMORY_CACHING
torch.autograd.set_detect_anomaly(False)
"""


def applies(case: Case) -> str | None:
    """The effect of a debug switch shows."""
    switches = case.signs.switches
    seen = {
        "every launch waits for its kernel, as under CUDA_LAUNCH_BLOCKING=1": (
            switches.blocking_launches
        ),
        "every gradient is tested for NaN, as in anomaly detection": switches.anomaly,
        "operators allocate through the driver, as under PYTORCH_NO_CUDA_MEMORY_CACHING=1": (
            switches.uncached_memory
        ),
    }
    found = [effect for effect, on in seen.items() if on]
    if case.live.switches:
        return (
            f"On in this process: {', '.join(case.live.switches)}. Other numbers mean little until "
            "then."
        )
    if not found:
        return None
    return (
        f"A debug switch seems to be on: {'; '.join(found)}. Other numbers mean little until then."
    )


RULE = Rule(
    id="debug-switches",
    title="Turn debug switches off, then record again.",
    how=HOW,
    stop_when="the effect is gone from the next recording",
    does_not_help="while the error that they were turned on for is still being looked for",
    applies=applies,
    attacks=("sync", *HOST),
    turn=Turn.SWITCH,
    risk=Risk.NONE,
    no_estimate="the recording was made under the switch",
    costs=Costs(memory="none"),
)
