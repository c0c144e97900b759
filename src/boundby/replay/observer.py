"""Subtracting the observer: what the host line would take without the profiler.

Profiling slows the host line 1.3-4.5 times and leaves kernels alone. The prior says what the
host work of a step should cost from what it submits, in units of the recording's own launch
calls, so that a slow host or an older profiler scales itself.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from boundby.read.recording import NONE
from boundby.replay.program import Program
from boundby.timeline.calls import CallKind
from boundby.timeline.hostline import LineKind
from boundby.timeline.timeline import Timeline
from boundby.units import NS_PER_US

MODEL = "launch-cost-1"
REFERENCE_LAUNCH = 9 * NS_PER_US
"""Median profiled cudaLaunchKernel on the host the constants were fitted on."""
COST_PER_LAUNCH = 14 * NS_PER_US
"""Clean host time of one launch with the operators around it (H200 host, torch 2.11)."""
SPEED_POWER = 0.8
"""How far clean cost follows the profiled launch call when a host is slower."""
GAP_FACTOR = 1.25
"""Clean Python time per observed gap between operators: the profiler's bookkeeping hides part
of the gap inside operator spans."""
COST_PER_FRAME = 1_200
"""Nanoseconds the Python tracer adds per recorded frame."""
HOST_RANGE = (0.75, 1.40)
"""Multiples of the estimated host line that bracket four in five recordings."""
DEVICE_RANGE = (0.97, 1.03)
"""Device clocks move: the same kernels of one program differ by a few percent."""


@dataclass(frozen=True)
class HostPrior:
    """The estimated clean host line.

    Attributes:
        scale: Clean over observed time of launch calls, operators and Python; 1 without any.
        low, high: Range of ``scale``.
    """

    scale: float
    low: float
    high: float


def host_prior(timeline: Timeline, program: Program) -> HostPrior:
    """Estimate the clean host line of a profiled program from the trace alone."""
    observed = program.host_ns
    submitting = int(observed[LineKind.LAUNCH] + observed[LineKind.OP])
    python = int(observed[LineKind.PYTHON])
    if submitting + python == 0:
        return HostPrior(1.0, 1.0, 1.0)
    speed = launch_speed(timeline) ** SPEED_POWER
    clean_submitting = min(submitting, COST_PER_LAUNCH * len(program.work) * speed)
    clean_python = GAP_FACTOR * python - COST_PER_FRAME * speed * frames_in_steps(timeline)
    scale = (clean_submitting + max(clean_python, 0.0)) / (submitting + python)
    return HostPrior(scale, scale * HOST_RANGE[0], scale * HOST_RANGE[1])


def launch_speed(timeline: Timeline) -> float:
    """Median plain launch call over the reference one; 1 where there is none."""
    launches, host = timeline.launches, timeline.recording.host
    plain = timeline.calls[host.name[launches.row]] == CallKind.LAUNCH
    durations = (launches.end - launches.start)[plain]
    return float(np.median(durations)) / REFERENCE_LAUNCH if len(durations) else 1.0


def frames_in_steps(timeline: Timeline) -> int:
    """Recorded Python frames on the host line inside steps, loader frames left out."""
    frames = timeline.recording.python
    if not len(frames):
        return 0
    mine = np.isin(frames.thread, timeline.line.threads)
    mine &= timeline.steps.of(frames.start) != NONE
    start = frames.start[mine]
    loader = timeline.line.covered[LineKind.LOADER].within(start, start + 1)
    before = timeline.line.covered[LineKind.ALLOCATOR].within(start, start + 1)
    return int(len(start) - (loader - before > 0).sum())
