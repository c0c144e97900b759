"""What-if edits: each takes a Program and returns one with a cost removed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from boundby.distribution import distinct
from boundby.intervals import Ints
from boundby.replay.program import NOTHING, PointKind, Program
from boundby.timeline.hostline import LineKind

GRAPH_NODE_NS = 350.0
"""Device time one node of a CUDA graph adds (H200, torch 2.11: a graph of 1,537 dependent tiny
kernels took 3.24 ms for 2.70 ms of kernels)."""

COLD = 0.70
"""Host time right after a wait over the same without it: caches and clocks cool while the host
waits (0.5 to 1.1 over seven recordings whose waits could be taken out)."""
COLD_POINTS = 4
"""Launches after a wait that are slow."""
WAITING = (LineKind.SYNC, LineKind.CARRIER)
"""Host time that exists only because the host waits."""
COMPUTED_HOST = (LineKind.CARRIER, LineKind.LAUNCH, LineKind.OP, LineKind.PYTHON)
"""Kinds of host time that the profiler inflates; waits and allocations it leaves alone."""


def without_host(program: Program, *kinds: LineKind) -> Program:
    """Host time of these kinds gone."""
    host = program.points.host.copy()
    host[:, list(kinds)] = 0
    return program.with_host(host)


def no_overhead(program: Program) -> Program:
    """The profiler's own events gone."""
    return without_host(program, LineKind.OVERHEAD)


def no_data_wait(program: Program) -> Program:
    """Every batch is there when it is asked for."""
    return without_host(program, LineKind.LOADER)


def no_sync(program: Program, cold: float = COLD) -> Program:
    """The host never waits for the device, nor runs the operators that exist only to wait.

    Args:
        program: With its waits.
        cold: What the host time right after a wait shrinks to, once there is none.
    """
    points = program.points
    waits = points.kind == PointKind.WAIT
    host = points.host.copy()
    after = _after(np.flatnonzero(waits & (points.target != NOTHING)), len(waits))
    for kind in COMPUTED_HOST:
        host[after, kind] = np.rint(host[after, kind] * cold).astype(np.int64)
    free = replace(
        points,
        target=np.where(waits, NOTHING, points.target),
        wake=np.where(waits, 0, points.wake),
        host=host,
    )
    return without_host(replace(program, points=free), *WAITING)


def _after(waits: Ints, count: int) -> Ints:
    """The launches that follow these points closely."""
    after = distinct((waits[:, None] + np.arange(1, COLD_POINTS + 1)).ravel())
    return after[after < count]


def no_sync_of(program: Program, calls: Ints) -> Program:
    """As ``no_sync``, but only for the waits of these host calls (rows of ``Recording.host``)."""
    points = program.points
    chosen = (points.kind == PointKind.WAIT) & np.isin(points.call, calls)
    host = points.host.copy()
    around = _around(np.flatnonzero(chosen), len(chosen))
    for kind in WAITING:
        host[around, kind] = 0
    freed = replace(
        points,
        target=np.where(chosen, NOTHING, points.target),
        wake=np.where(chosen, 0, points.wake),
        host=host,
    )
    return replace(program, points=freed)


def _around(points: Ints, count: int) -> Ints:
    """Points with the one before and after each: the operator around a wait spans all three."""
    near = distinct(np.concatenate((points - 1, points, points + 1)))
    return near[(near >= 0) & (near < count)]


def no_python(program: Program) -> Program:
    """Host time that no operator or call covers gone."""
    return without_host(program, LineKind.PYTHON)


def no_submit_cost(program: Program, node_ns: float = GRAPH_NODE_NS) -> Program:
    """The whole step as one CUDA graph: no host work but the loader, device gaps of a graph."""
    free = without_host(no_sync(program), *COMPUTED_HOST, LineKind.ALLOCATOR)
    work = free.work
    packed = replace(
        work,
        latency=np.zeros_like(work.latency),
        lead=np.full_like(work.lead, round(node_ns)),
    )
    return free.with_work(packed)


def device_only(program: Program) -> Program:
    """All host time and waits gone: what the device needs for the same submissions."""
    free = without_host(no_sync(program), *LineKind)
    return free.with_work(replace(free.work, latency=np.zeros_like(free.work.latency)))


def scaled_host(program: Program, scale: float) -> Program:
    """Launch calls, operators and Python take ``scale`` times as long."""
    return scaled_kinds(program, COMPUTED_HOST, scale)


def scaled_kinds(program: Program, kinds: Sequence[LineKind], scale: float) -> Program:
    """Host time of these kinds takes ``scale`` times as long."""
    host = program.points.host.copy()
    columns = list(kinds)
    host[:, columns] = np.rint(host[:, columns] * scale).astype(np.int64)
    return program.with_host(host)


def scaled_device(program: Program, scale: float) -> Program:
    """Device work takes ``scale`` times as long."""
    work = program.work
    return program.with_work(
        replace(
            work,
            dur=np.rint(work.dur * scale).astype(np.int64),
            busy=np.rint(work.busy * scale).astype(np.int64),
        )
    )
