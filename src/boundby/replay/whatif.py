"""What-ifs: the clean step with one cost removed, each with its range."""

from __future__ import annotations

from collections.abc import Callable

from boundby.replay.calibrate import Calibrated
from boundby.replay.edits import no_data_wait, no_python, no_submit_cost, no_sync
from boundby.replay.program import Program
from boundby.replay.steptime import steady_ns
from boundby.replay.values import WhatIf
from boundby.units import ms

Edit = Callable[[Program], Program]

EDITS: dict[str, Edit] = {
    "no_data_wait": no_data_wait,
    "no_sync": no_sync,
    "no_python": no_python,
    "no_submit_cost": no_submit_cost,
}


def ask(calibrated: Calibrated, name: str, edit: Edit) -> WhatIf:
    """Replay one edit on the clean program and on both ends of its range."""
    step = min(ms(steady_ns(edit(calibrated.clean))), calibrated.step.estimate)
    ends = [ms(steady_ns(edit(p))) for p in (calibrated.low, calibrated.high)]
    return WhatIf(
        id=name,
        step_ms=step,
        low=min(step, *ends),
        high=max(step, *ends),
        speedup=calibrated.step.estimate / step if step else 1.0,
    )


def what_ifs(calibrated: Calibrated) -> tuple[WhatIf, ...]:
    """All edits that apply to any program."""
    return tuple(ask(calibrated, name, edit) for name, edit in EDITS.items())
