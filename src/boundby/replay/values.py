"""Results of replaying: step times, the waterfall, what-ifs. Unknown is None."""

from __future__ import annotations

from typing import Literal

from boundby.frozen import frozen

Part = Literal[
    "data",
    "sync",
    "python",
    "submission",
    "device-compute",
    "device-memory",
    "device-other",
    "device-copy",
    "device-communication",
]


@frozen
class Estimate:
    """A number with its range, milliseconds."""

    estimate: float
    low: float
    high: float


@frozen
class Quartiles:
    """Median and quartiles of step ranges, milliseconds; None where they cannot be known."""

    median: float | None
    q1: float | None
    q3: float | None


@frozen
class StepTimes:
    """Step times of one recording.

    Attributes:
        source: What the steps were taken from (``ProfilerStep``, ``optimizer``, ``window`` ...).
        drained_ms: Observed: completion to completion from an empty queue, per step.
        steady_ms: Observed: the same program with its queue already full.
        unprofiled_ms: Estimate of the step without the observer.
    """

    count: int
    source: str
    drained_ms: float | None
    steady_ms: float | None
    range_ms: Quartiles
    unprofiled_ms: Estimate | None


@frozen
class Calibration:
    """How the observer was subtracted.

    Attributes:
        source: ``prior`` (from the trace alone), ``step-ms``, ``clean-pass``.
        model: Name of the probe-cost model.
        host_scale: Factor applied to the observed host line; None without a host line.
        device_scale: Factor applied to the recorded device work: its clocks, not the observer.
    """

    source: Literal["prior", "step-ms", "clean-pass"]
    model: str
    host_scale: float | None
    device_scale: float = 1.0


@frozen
class WaterfallPart:
    """One part of the unprofiled step; parts sum to it, shares sum to 1."""

    part: Part
    ms: float
    share: float


@frozen
class WhatIf:
    """Predicted step time with one cost removed; speedup is now / then."""

    id: str
    step_ms: float
    low: float
    high: float
    speedup: float
