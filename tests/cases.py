"""Tiny diagnosed programs for the prescriptions: what is said is seen, everything else unknown.

One call is one program::

    program("launch-bound", what_if={"fused_optimizer": 8.0}, update={"kind": "loop"})

is launch-bound, takes 10 ms a step, would take 8 with a fused optimizer, and updates one tensor at
a time. ``what_if`` gives steps in ms; ``batch_x4`` is the step of four times the samples.
"""

from typing import Any

from boundby.evidence.allocations import Allocations
from boundby.evidence.attention import Attention
from boundby.evidence.facts import Evidence, Place
from boundby.evidence.layout import Layout
from boundby.evidence.loading import Loading
from boundby.evidence.mode import Mode
from boundby.evidence.norms import Norms
from boundby.evidence.origins import Origins
from boundby.evidence.precision import Precision
from boundby.evidence.signs import Signs
from boundby.evidence.switches import Switches
from boundby.evidence.tables import OpRow, RangeRow, SyncRow
from boundby.evidence.updates import Update
from boundby.evidence.uploads import Uploads
from boundby.prescribe.case import Case, Live
from boundby.read.recording import Caliber
from boundby.replay.values import Estimate, WhatIf
from boundby.timeline.summary import DeviceSummary, HostSummary, QueueDelay
from boundby.verdict.decision import Verdict

STEP_MS = 10.0
PARTS = {
    "launch-bound": {"submission": 0.7, "python": 0.1, "device-compute": 0.1, "device-memory": 0.1},
    "python-bound": {"python": 0.7, "submission": 0.1, "device-compute": 0.2},
    "sync-bound": {"sync": 0.6, "submission": 0.1, "device-compute": 0.3},
    "memory-bound": {"device-memory": 0.8, "device-compute": 0.15, "submission": 0.05},
    "compute-bound": {"device-compute": 0.8, "device-memory": 0.15, "submission": 0.05},
    "communication-bound": {"device-communication": 0.6, "device-compute": 0.4},
    "undecided": {},
}
"""Shares of the step where a test gives none."""

GROUPS = {
    "origins": Origins,
    "update": Update,
    "precision": Precision,
    "attention": Attention,
    "norms": Norms,
    "mode": Mode,
    "uploads": Uploads,
    "loading": Loading,
    "layout": Layout,
    "switches": Switches,
    "allocations": Allocations,
}


def program(
    bound: str = "launch-bound",
    *,
    parts: dict[str, float] | None = None,
    what_if: dict[str, float] | None = None,
    syncs: tuple[SyncRow, ...] = (),
    evidence: tuple[Evidence, ...] = (),
    ops: tuple[OpRow, ...] = (),
    ranges: tuple[RangeRow, ...] = (),
    cause: str | None = None,
    strength: str | None = None,
    device: str | None = "NVIDIA H200",
    launches: float | None = 400.0,
    kernel_us: float | None = 3.0,
    busy: float | None = None,
    launch_calls: float | None = None,
    live: dict[str, Any] | None = None,
    **signs: dict[str, Any],
) -> Case:
    return Case(
        verdict=Verdict(bound, cause, strength, (), None),
        step=Estimate(STEP_MS, 9.0, 11.0),
        shares=PARTS[bound] if parts is None else parts,
        what_if={edit: _what_if(edit, ms) for edit, ms in (what_if or {}).items()},
        ladder=(),
        device=DeviceSummary(
            None, busy, None, None, launches, None, kernel_us, QueueDelay(None, None), None
        ),
        host=HostSummary(launch_calls, None, None, None),
        caliber=Caliber(device=device),
        evidence={fact.id: fact for fact in evidence},
        syncs=syncs,
        ops=ops,
        ranges=ranges,
        signs=Signs(**{group: GROUPS[group](**values) for group, values in signs.items()}),
        live=Live(**(live or {})),
    )


def wait(
    kind: str,
    count: float = 1.0,
    depth: float | None = None,
    *places: str,
    cost: float | None = None,
) -> SyncRow:
    """One kind of wait; places as ``train.py:42``."""
    return SyncRow(kind, count, depth, cost, tuple(place(text) for text in places))


def collective(name: str, calls: float = 1.0, device_ms: float = 0.0) -> OpRow:
    """A collective as an operator: ``c10d::allreduce_``."""
    return OpRow(name, calls, 0.0, 0.0, device_ms, device_ms)


def place(text: str) -> Place:
    file, line = text.split(":")
    return Place(file, int(line), "", exact=True)


def _what_if(edit: str, ms: float) -> WhatIf:
    samples = int(edit.removeprefix("batch_x")) if edit.startswith("batch_x") else 1
    return WhatIf(edit, ms, ms * 0.9, ms * 1.1, samples * STEP_MS / ms)
