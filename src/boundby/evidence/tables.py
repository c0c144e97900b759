"""Rows of the tables a profiler would print, per step."""

from __future__ import annotations

from boundby.evidence.facts import Place
from boundby.frozen import frozen


@frozen
class OpRow:
    """One operator or launch call by name, over the steps of the recording.

    Times are ms per step. ``flops`` and ``bytes`` are None until a roofline counted them.
    """

    name: str
    calls: float
    self_host_ms: float
    total_host_ms: float
    self_device_ms: float
    total_device_ms: float
    flops: float | None = None
    bytes: float | None = None


@frozen
class RangeRow:
    """One named range or phase (forward, backward, optimizer); times are ms per step."""

    name: str
    count: float
    host_ms: float
    device_ms: float


@frozen
class SyncRow:
    """One kind of host wait.

    Attributes:
        kind: ``item``, ``explicit-sync``, ``host-copy``, ``data-dependent-shape``, ...
        count_per_step: How often per step.
        outstanding_device_ms: Device work queued when it happened, mean; None where unknown.
        cost_ms: What removing it would save per step by replay; None where not replayed.
    """

    kind: str
    count_per_step: float
    outstanding_device_ms: float | None
    cost_ms: float | None
    where: tuple[Place, ...] = ()
