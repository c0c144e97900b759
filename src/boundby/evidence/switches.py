"""Debug switches left on, and what the interpreter does on its own."""

from __future__ import annotations

import re

import numpy as np

from boundby.evidence.launched import Launched, nodes_named
from boundby.evidence.naming import rows_named
from boundby.frozen import frozen
from boundby.intervals import Intervals, union
from boundby.read.recording import HostKind, Recording
from boundby.timeline.calls import CallKind
from boundby.units import ms

ENGINE = re.compile(r"^autograd::engine::evaluate_function")
NAN_TEST = re.compile(r"^aten::isnan$")
COLLECTION = re.compile(r"^<built-in function collect>|^Python GC|^gc\.collect")
ENOUGH = 20
"""Launches or calls from which a habit can be told from chance."""
NEARLY_ALL = 0.95
HALF = 0.5


@frozen
class Switches:
    """Switches and automatics.

    Attributes:
        blocking_launches: Whether every launch waits for its kernel (``CUDA_LAUNCH_BLOCKING``).
        anomaly: Whether the backward pass tests every gradient for NaN.
        uncached_memory: Whether operators allocate through the driver one by one.
        collections: Runs of the garbage collector a step; None where nothing would show them.
        collection_ms: Their time a step.
    """

    blocking_launches: bool | None = None
    anomaly: bool | None = None
    uncached_memory: bool | None = None
    collections: float | None = None
    collection_ms: float | None = None


def find_switches(launched: Launched) -> Switches:
    """Switches as their effect shows them; None where there is too little to tell."""
    collections = _collections(launched.timeline.recording)
    steps = launched.timeline.steps
    spent = collections.within(steps.start, steps.end).sum() if collections else None
    return Switches(
        blocking_launches=_blocking(launched),
        anomaly=_anomaly(launched),
        uncached_memory=_uncached(launched),
        collections=len(collections.start) / launched.steps if collections else None,
        collection_ms=None if spent is None else ms(spent) / launched.steps,
    )


def _blocking(launched: Launched) -> bool | None:
    """Whether launch calls return only after their kernel is done."""
    rows = np.flatnonzero(launched.is_kernel & launched.alone)
    if len(rows) < ENOUGH:
        return None
    launches, work = launched.timeline.launches, launched.timeline.recording.device
    call = launched.call[rows]
    return float((launches.end[call] >= work.end[launches.first_row[call]]).mean()) >= NEARLY_ALL


def _anomaly(launched: Launched) -> bool | None:
    """Whether at least every other function of the backward pass is followed by a NaN test."""
    functions = nodes_named(launched, ENGINE)
    if not len(functions):
        return None
    tree = launched.tree
    when = union(tree.start[functions], tree.end[functions])
    tests = tree.start[nodes_named(launched, NAN_TEST)]
    return int((when.within(tests, tests + 1) > 0).sum()) >= HALF * len(functions)


def _uncached(launched: Launched) -> bool | None:
    if len(launched) < ENOUGH:
        return None
    tree = launched.tree
    calls = ~tree.is_op & (launched.timeline.calls[tree.name] == CallKind.ALLOCATOR)
    return int(calls.sum()) >= max(HALF * len(launched), ENOUGH)


def _collections(recording: Recording) -> Intervals | None:
    """Runs of the collector; None where neither frames nor ranges of it could be recorded."""
    host, frames = recording.host, recording.python
    rows = np.flatnonzero(np.isin(host.kind, (HostKind.OP, HostKind.RANGE)))
    rows = rows[rows_named(recording.names, host.name[rows], COLLECTION.search)]
    mine = rows_named(recording.names, frames.name, COLLECTION.search)
    if not len(rows) and not len(frames):
        return None
    return union(
        np.concatenate((host.start[rows], frames.start[mine])),
        np.concatenate((host.end[rows], frames.end[mine])),
    )
