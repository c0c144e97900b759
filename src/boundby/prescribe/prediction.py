"""What a change does to the step, predicted for the samples of today."""

from __future__ import annotations

from boundby.evidence.tables import SyncRow
from boundby.frozen import frozen
from boundby.prescribe.case import Case
from boundby.prescribe.readings import waits
from boundby.replay.values import WhatIf

BATCHES = {"batch_x2": 2, "batch_x4": 4, "batch_x8": 8}
"""What-ifs of larger batches, and how many times the samples of today each works on."""
WITHOUT_WAITS = "no_sync"
DEEP = 0.1
"""Share of the step that the device still has to do when a wait begins, from which its queue is
deep: the host is ahead, and what the wait costs is refilling the queue."""
EXPOSED_MS = 0.38
"""What a recording adds to a wait that ends its step on a deep queue: the profiler's own ``step()``
runs before the queue is filled again (H200, 12 blocks, one item a step: removing it was measured to
gain 0.06 ms; replays of three recordings gain 0.22 to 0.44)."""


@frozen
class Prediction:
    """The step after a change, ms; of a larger batch its share for the samples of today.

    Attributes:
        edit: The what-if it is taken from; None where it is taken from another replay.
        low, high: Its range.
    """

    edit: str | None
    step_ms: float
    low: float
    high: float


def replayed(case: Case, edit: str | None) -> Prediction | None:
    """What a what-if predicts; None where it was not replayed."""
    asked = case.what_if.get(edit) if edit else None
    if edit is None or asked is None or asked.speedup <= 0:
        return None
    samples = BATCHES.get(edit, 1)
    return Prediction(edit, asked.step_ms / samples, asked.low / samples, asked.high / samples)


def without_waits(case: Case, kind: str) -> Prediction | None:
    """The step without the waits of one kind.

    Where they are the only ones, the replay without waits tells; beside others their own replayed
    cost does, with its relative range.
    """
    row, asked = waits(case, kind), case.what_if.get(WITHOUT_WAITS)
    if row is None or asked is None or asked.step_ms <= 0:
        return None
    now = case.step.estimate
    alone = all(other.kind == kind for other in case.syncs if other.count_per_step > 0)
    cost = now - asked.step_ms if alone else row.cost_ms
    if cost is None:
        return None
    kept = max(cost - EXPOSED_MS, 0.0) if _ends_a_deep_step(case, row) else cost
    if alone and kept == cost:
        return replayed(case, WITHOUT_WAITS)
    return _in_its_range(asked, now - kept, now - cost)


def _in_its_range(asked: WhatIf, step: float, least: float) -> Prediction:
    """A step with the relative range of a what-if, and down to ``least`` with it."""
    low, high = asked.low / asked.step_ms, asked.high / asked.step_ms
    return Prediction(None, step, min(step, least * low), max(step, step * high))


def _ends_a_deep_step(case: Case, row: SyncRow) -> bool:
    """Whether waits come at most once a step, and then with much work still queued."""
    depth = row.outstanding_device_ms
    return row.count_per_step <= 1 and depth is not None and depth >= DEEP * case.step.estimate
