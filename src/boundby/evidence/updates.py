"""How the optimizer updates the parameters, and what that costs."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

import numpy as np

from boundby.evidence.launched import Launched, nodes_named, rows_of_kind
from boundby.evidence.naming import Bools
from boundby.evidence.phases import OPTIMIZER
from boundby.intervals import Intervals, union
from boundby.read.recording import HostKind
from boundby.timeline.hostline import LineKind

UpdateKind = Literal["loop", "foreach", "fused"]
FUSED = re.compile(r"^aten::_fused_(adam|adamw|sgd|adagrad)")
FOREACH = re.compile(r"^aten::_foreach_")
COMPILED = re.compile(r"^(## Call CompiledFxGraph|Torch-Compiled Region|CompiledFunction)")
FEW_LAUNCHES = 6
"""An update of so few launches is fused in effect, whatever it is called."""


@dataclass(frozen=True)
class Update:
    """The optimizer's update; all None where the recording shows none.

    Attributes:
        kind: One tensor at a time, lists of tensors an operation, or one kernel for all of it;
            None where it is compiled.
        launches: Launches of the updates of a step.
        host_share: Share of recorded host time inside the update.
        device_share: Share of device time launched by it.
    """

    kind: UpdateKind | None = None
    launches: float | None = None
    host_share: float | None = None
    device_share: float | None = None


def find_update(launched: Launched) -> Update:
    """The update, by its ranges or, without any, by fused operators."""
    if not len(launched):
        return Update()
    when, inside = update_time(launched), launched_by_update(launched)
    if not inside.any():
        return Update()
    timeline = launched.timeline
    host = timeline.line.time_by_kind(timeline.steps.start, timeline.steps.end).sum(axis=0)
    total = int(host.sum() - host[LineKind.OVERHEAD])
    spent = int(when.within(timeline.steps.start, timeline.steps.end).sum())
    device = launched.work.sum()
    return Update(
        kind=_kind(launched, when, inside),
        launches=float(inside.sum()) / launched.steps,
        host_share=spent / total if total else None,
        device_share=float(launched.work[inside].sum() / device) if device else None,
    )


def launched_by_update(launched: Launched) -> Bools:
    """bool[m]: launches that an optimizer's update makes."""
    when = update_time(launched)
    return np.asarray(when.within(launched.start, launched.start + 1) > 0, dtype=np.bool_)


def update_time(launched: Launched) -> Intervals:
    """When an update runs on the host: its ranges, or its fused operators without ranges."""
    timeline, host = launched.timeline, launched.timeline.recording.host
    rows = rows_of_kind(timeline, OPTIMIZER, HostKind.RANGE, HostKind.OP)
    if not len(rows):
        rows = launched.tree.row[nodes_named(launched, FUSED)]
    return union(host.start[rows], host.end[rows])


def _kind(launched: Launched, when: Intervals, inside: Bools) -> UpdateKind | None:
    for pattern, kind in ((COMPILED, None), (FUSED, "fused"), (FOREACH, "foreach")):
        rows = rows_of_kind(launched.timeline, pattern, HostKind.RANGE, HostKind.OP)
        begin = launched.timeline.recording.host.start[rows]
        if (when.within(begin, begin + 1) > 0).any():
            return kind  # type: ignore[return-value]
    return "loop" if inside.sum() > FEW_LAUNCHES * launched.steps else "fused"
