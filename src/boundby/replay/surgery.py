"""The two cuts that edits are made of: change items' durations, or take items out."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from boundby.intervals import Ints
from boundby.replay.program import NOTHING, PointKind, Program
from boundby.timeline.hostline import LineKind

Bools = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]

COMPUTED = [int(k) for k in (LineKind.LAUNCH, LineKind.OP, LineKind.PYTHON)]


def with_durations(program: Program, dur: Floats) -> Program:
    """Work items take ``dur`` (float64[m] ns), never longer than they do now."""
    old = program.work.dur
    new = np.minimum(np.rint(np.where(np.isnan(dur), old, dur)), old).astype(np.int64)
    share = new / np.maximum(old, 1)
    busy = np.rint(program.work.busy * share).astype(np.int64)
    return program.with_work(replace(program.work, dur=new, busy=busy))


def merge_items(program: Program, item: Bools, host_kept: float) -> Program:
    """Take the device work of items away and keep a share of the host time before their launch.

    The launch points stay, as points that enqueue nothing, so that order and steps hold.
    """
    return scale_host_before(without_items(program, item), item, host_kept)


def without_items(program: Program, item: Bools) -> Program:
    """Items take no device time and leave no gap."""
    work = program.work
    return program.with_work(
        replace(
            work,
            dur=np.where(item, 0, work.dur),
            busy=np.where(item, 0, work.busy),
            lead=np.where(item, 0, work.lead),
        )
    )


def scale_host_before(program: Program, item: Bools, kept: float) -> Program:
    """Host work before the launches of these items takes ``kept`` of its time; waits stay."""
    points = program.points
    launches = points.kind == PointKind.LAUNCH
    chosen = np.zeros(len(points.kind), dtype=np.bool_)
    chosen[launches] = item[points.target[launches]]
    host = points.host.copy()
    for kind in COMPUTED:
        host[chosen, kind] = np.rint(host[chosen, kind] * kept).astype(np.int64)
    return program.with_host(host)


def without_waits_for(program: Program, item: Bools) -> Program:
    """Waits for these items are gone: the host goes on at once."""
    points = program.points
    target = np.maximum(points.target, 0)
    gone = (points.kind == PointKind.WAIT) & (points.target >= 0)
    gone[gone] = item[target[gone]]
    freed = replace(
        points,
        target=np.where(gone, NOTHING, points.target),
        wake=np.where(gone, 0, points.wake),
    )
    return replace(program, points=freed)


def on_own_stream(program: Program, item: Bools) -> Program:
    """Items run on a stream of their own, beside all others."""
    work = program.work
    own = int(work.stream.max(initial=0)) + 1
    beside = replace(work, stream=np.where(item, own, work.stream))
    return replace(program, work=beside, takes_turns=False)


def first_of_group(group: Ints) -> Bools:
    """bool: the first member of each group (a negative number is no group)."""
    first = np.zeros(len(group), dtype=np.bool_)
    numbers, index = np.unique(group, return_index=True)
    first[index[numbers >= 0]] = True
    return first


def sum_by_group(group: Ints, value: Floats) -> Floats:
    """float64, for each member the sum over its group; 0 outside groups."""
    members = group >= 0
    totals = np.bincount(group[members], value[members]) if members.any() else np.zeros(1)
    return np.where(members, totals[np.maximum(group, 0)], 0.0)


def most_by_group(group: Ints, value: Floats) -> Floats:
    """float64, for each member the largest value of its group; 0 outside groups."""
    members = group >= 0
    if not members.any():
        return np.zeros(len(group))
    most = np.zeros(int(group.max()) + 1)
    np.maximum.at(most, group[members], value[members])
    return np.where(members, most[np.maximum(group, 0)], 0.0)
