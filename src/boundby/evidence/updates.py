"""How the optimizer updates the parameters, and what that costs."""

from __future__ import annotations

import re
from collections import Counter
from typing import Literal

from boundby.evidence.launched import FUSED_UPDATE, Launched
from boundby.evidence.phases import OPTIMIZER
from boundby.frozen import frozen

UpdateKind = Literal["loop", "foreach", "fused"]
COMPILED = re.compile(r"^(## Call CompiledFxGraph|Torch-Compiled Region|CompiledFunction)")
KINDS: tuple[tuple[re.Pattern[str], UpdateKind | None], ...] = (
    (COMPILED, None),
    (FUSED_UPDATE, "fused"),
    (re.compile(r"^aten::_foreach_"), "foreach"),
)
"""What an update calls, and what that makes it; the first found decides."""
STEP = re.compile(r"^Optimizer\.step#(?P<class>\w+)\.step$")
"""How torch names the range of an update."""
FEW_LAUNCHES = 6
"""An update of so few launches is fused in effect, whatever it is called."""


@frozen
class Update:
    """The optimizer's update; all None where the recording shows none.

    Attributes:
        kind: One tensor at a time, lists of tensors an operation, or one kernel for all of it;
            None where it is compiled.
        optimizer: Class of the optimizer whose updates take longest, as its range names it.
        launches: Launches of the updates of a step.
        host_share: Share of recorded host time inside the update.
        device_share: Share of device time launched by it.
    """

    kind: UpdateKind | None = None
    optimizer: str | None = None
    launches: float | None = None
    host_share: float | None = None
    device_share: float | None = None


def find_update(launched: Launched) -> Update:
    """The update, by its ranges or, without any, by fused operators."""
    if not len(launched):
        return Update()
    when, inside = launched.updates, launched.by_update
    if not inside.any():
        return Update()
    timeline = launched.timeline
    spent = int(when.within(timeline.steps.start, timeline.steps.end).sum())
    device = launched.work.sum()
    return Update(
        kind=_kind(launched),
        optimizer=_optimizer(launched),
        launches=float(inside.sum()) / launched.steps,
        host_share=spent / launched.host_ns if launched.host_ns else None,
        device_share=float(launched.work[inside].sum() / device) if device else None,
    )


def _optimizer(launched: Launched) -> str | None:
    """The class named by the ranges of updates that take longest; None where none names one."""
    host, time = launched.timeline.recording.host, Counter[str]()
    for row in launched.rows(OPTIMIZER).tolist():
        found = STEP.match(launched.names[host.name[row]])
        if found:
            time[found["class"]] += int(host.dur[row])
    return max(time, key=lambda name: time[name], default=None)


def _kind(launched: Launched) -> UpdateKind | None:
    for pattern, kind in KINDS:
        begin = launched.timeline.recording.host.start[launched.rows(pattern)]
        if (launched.updates.within(begin, begin + 1) > 0).any():
            return kind
    return "loop" if launched.by_update.sum() > FEW_LAUNCHES * launched.steps else "fused"
