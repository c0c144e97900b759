"""Subtracting the observer: what the host line would take without the profiler.

Profiling slows the host line 1.3-4.5 times and leaves kernels alone. The prior says what the
host work of a step should cost from what it submits, in units of the recording's own launch
calls, so that a slow host or an older profiler scales itself.
"""

from __future__ import annotations

import re

import numpy as np

from boundby.distribution import distinct
from boundby.frozen import frozen
from boundby.intervals import union
from boundby.read.recording import NONE, HostKind
from boundby.replay.edits import COMPUTED_HOST
from boundby.replay.program import Program
from boundby.timeline.calls import CallKind
from boundby.timeline.hostline import LineKind, rows_where
from boundby.timeline.timeline import Timeline
from boundby.units import NS_PER_MS, NS_PER_US

MODEL = "launch-cost-1"
REFERENCE_LAUNCH = 9 * NS_PER_US
"""Median profiled cudaLaunchKernel on the host the constants were fitted on."""
COST_PER_LAUNCH = 14 * NS_PER_US
"""Clean host time of one launch with the operators around it (H200 host, torch 2.11)."""
COST_PER_COMPILED_LAUNCH = 24 * NS_PER_US
"""The same inside a compiled region, whose generated wrapper allocates and launches in Python:
15 to 44 us over six compiled programs."""
COMPILED = re.compile(r"^(## Call CompiledFxGraph|Torch-Compiled Region|CompiledFunction)")
"""Ranges and operators around compiled code, torch 2.1 to 2.13."""
SPEED_POWER = 0.8
"""How far clean cost follows the profiled launch call when a host is slower."""
GAP_FACTOR = 1.25
"""Clean Python time per observed gap between operators: the profiler's bookkeeping hides part
of the gap inside operator spans."""
OWN_STRETCH = NS_PER_MS
"""Nobody's dispatch takes this long between two recorded moments of the host."""
COST_PER_FRAME = 1_200
"""Nanoseconds the Python tracer adds per recorded frame."""
HOST_RANGE = (0.75, 1.22)
"""Multiples of the estimated host line that bracket six in seven recordings. One host has speeds
1.6 times apart within seconds, and a process that has recorded once stays about 1.2 times slower:
no trace shows which of them a clean run will have."""
WEIGHT = {LineKind.CARRIER: 0.7, LineKind.LAUNCH: 0.9, LineKind.OP: 0.7}
"""Clean time of each kind over clean Python, per recorded time: without frames the profiler
lengthens operators, not the Python between them. Fitted to four programs whose Python could be
taken out, on a fast and on a slow host (single programs: 0.2 to 1.0)."""
PROBE_RANGE = 0.25
"""The cost taken off may be a quarter too high; it matters where most of the line is cost."""
LEAST_KEPT = 0.15
"""Share of the Python time that stays, however many frames were recorded."""
DEVICE_RANGE = (0.95, 1.05)
"""Device clocks move: the same kernels of one program differ by a few percent, seldom by 15%."""


@frozen
class HostPrior:
    """The estimated clean host line.

    Attributes:
        scale: Clean over observed time of launch calls, operators and Python; 1 without any.
        low, high: Range of ``scale``.
    """

    scale: float
    low: float
    high: float


def without_frame_cost(timeline: Timeline, program: Program) -> Program:
    """Python time without what the tracer added for each recorded frame."""
    frames = frames_in_steps(timeline)
    python = int(program.host_ns[LineKind.PYTHON])
    if not frames or not python:
        return program
    added = COST_PER_FRAME * launch_speed(timeline) ** SPEED_POWER * frames
    host = program.points.host.copy()
    kept = max(1.0 - added / python, LEAST_KEPT)
    host[:, LineKind.PYTHON] = np.rint(host[:, LineKind.PYTHON] * kept).astype(np.int64)
    return program.with_host(host)


def leaning(program: Program) -> Program:
    """Host time with each kind shortened as much as the profiler lengthens it against Python.

    Only the proportions count: a scale for the whole line comes after.
    """
    host = program.points.host.copy()
    for kind, weight in WEIGHT.items():
        host[:, kind] = np.rint(host[:, kind] * weight).astype(np.int64)
    return program.with_host(host)


def host_prior(timeline: Timeline, program: Program) -> HostPrior:
    """Estimate the clean host line of a profiled program from the trace alone.

    Args:
        timeline: Both lines.
        program: As recorded, with the cost of recorded frames already taken off. The scale is for
            the same program made ``leaning``.
    """
    observed = program.host_ns
    submitting = int(observed[[LineKind.CARRIER, LineKind.LAUNCH, LineKind.OP]].sum())
    python = int(observed[LineKind.PYTHON])
    if submitting + python == 0:
        return HostPrior(1.0, 1.0, 1.0)
    speed = launch_speed(timeline) ** SPEED_POWER
    own = min(_own_time(timeline), int(observed[LineKind.OP]))
    dispatch = min(submitting - own, _cost_of_launches(timeline, program) * speed)
    clean = dispatch + own + GAP_FACTOR * python
    clean = min(clean, submitting + python)
    share = clean / (submitting + python)
    scale = clean / sum(int(observed[kind]) * WEIGHT.get(kind, 1.0) for kind in COMPUTED_HOST)
    high = max(HOST_RANGE[1], (1.0 - (1.0 - PROBE_RANGE) * (1.0 - share)) / share)
    return HostPrior(scale, low=scale * HOST_RANGE[0], high=scale * high)


def _own_time(timeline: Timeline) -> int:
    """Ns that operators work on the host themselves: an optimizer on the CPU, compiling, tokens.

    The profiler costs microseconds where an event or a frame begins or ends, so a stretch inside
    operators that holds no such moment for long is the program's own, whatever it launches.
    """
    host, frames = timeline.recording.host, timeline.recording.python
    mine = np.isin(host.thread, timeline.line.threads)
    rows = mine & ((host.kind == HostKind.OP) | (host.kind == HostKind.CALL))
    traced = np.isin(frames.thread, timeline.line.threads)
    moments = (host.start[rows], host.end[rows], frames.start[traced], frames.end[traced])
    edges = distinct(np.concatenate(moments))
    start, end = edges[:-1], edges[1:]
    long = (end - start >= OWN_STRETCH) & (timeline.steps.of(start) != NONE)
    return int(timeline.line.time_by_kind(start[long], end[long])[:, LineKind.OP].sum())


def _cost_of_launches(timeline: Timeline, program: Program) -> float:
    """Clean host time, ns, of all launches with the operators around them, on the usual host."""
    host, start = timeline.recording.host, timeline.launches.start[program.work.launch]
    region = rows_where(timeline.recording, lambda name: bool(COMPILED.match(name)))
    compiled = union(host.start[region], host.end[region])
    inside = int((compiled.within(start, start + 1) > 0).sum())
    return COST_PER_LAUNCH * (len(start) - inside) + COST_PER_COMPILED_LAUNCH * inside


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
