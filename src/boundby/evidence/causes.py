"""What refines a class: the cause, where one thing clearly leads."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from boundby.evidence.tables import SyncRow
from boundby.intervals import union
from boundby.read.recording import NONE, HostKind
from boundby.timeline.hostline import LineKind
from boundby.timeline.timeline import Timeline

OPTIMIZER = re.compile(r"^Optimizer\.step#")
LEADS = 0.5
"""Share of launches from which one origin is the cause of all of them."""
ALLOCATOR_LEADS = 0.05
"""Share of host time from which driver allocations are a cause: a caching allocator makes none."""


@dataclass(frozen=True)
class Shares:
    """Shares that decide causes; of launches or of host time inside steps."""

    optimizer_launches: float
    allocator_host: float


def measure_shares(timeline: Timeline) -> Shares:
    """How much of the launching is the optimizer's and how much host time allocations take."""
    steps = timeline.steps
    host = timeline.line.time_by_kind(steps.start, steps.end).sum(axis=0).astype(np.float64)
    computed = host.sum() - host[LineKind.OVERHEAD]
    return Shares(
        optimizer_launches=_optimizer_launches(timeline),
        allocator_host=float(host[LineKind.ALLOCATOR] / computed) if computed else 0.0,
    )


def _optimizer_launches(timeline: Timeline) -> float:
    recording, inside = timeline.recording, timeline.launch_step != NONE
    named = np.array([bool(OPTIMIZER.match(n)) for n in recording.names], dtype=bool)
    if not named.any() or not inside.any():
        return 0.0
    rows = np.flatnonzero(named[recording.host.name] & (recording.host.kind != HostKind.CALL))
    ranges = union(recording.host.start[rows], recording.host.end[rows])
    start = timeline.launches.start[inside]
    return float((ranges.within(start, start + 1) > 0).mean())


def find_causes(shares: Shares, syncs: Sequence[SyncRow]) -> dict[str, str]:
    """The cause that refines each class, where one clearly leads."""
    causes: dict[str, str] = {}
    if syncs:
        most = max(syncs, key=lambda row: row.count_per_step)
        causes["sync-bound"] = most.kind
    if shares.optimizer_launches >= LEADS:
        causes["launch-bound"] = causes["python-bound"] = "optimizer"
    elif shares.allocator_host >= ALLOCATOR_LEADS:
        causes["launch-bound"] = causes["python-bound"] = "allocator"
    elif causes.get("sync-bound") == "data-dependent-shape":
        causes["launch-bound"] = "data-dependent-shape"
    return causes
