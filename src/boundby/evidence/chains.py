"""Kernels next to each other that a compiler could merge: elementwise work, reductions, norms."""

from __future__ import annotations

import re

import numpy as np

from boundby.evidence.launched import Launched
from boundby.evidence.naming import Bools, rows_named
from boundby.intervals import Ints
from boundby.read.recording import NONE, DeviceKind, Recording
from boundby.replay.marks import NO_GROUP
from boundby.roofline.families import Family, classify_kernels

MERGEABLE = (
    Family.ELEMENTWISE,
    Family.REDUCTION,
    Family.SOFTMAX,
    Family.NORM,
    Family.CAST,
    Family.RANDOM,
)
"""Work a compiler merges with its neighbours."""
GENERATED = re.compile(r"^triton_")
"""Kernels a compiler already merged."""


def mergeable(recording: Recording, rows: Ints) -> Bools:
    """bool[len(rows)]: device rows that are kernels of such work, not yet generated."""
    work, names = recording.device, recording.names
    column = work.name[rows]
    fits = np.isin(classify_kernels(names, column)[column], MERGEABLE)
    fits &= work.kind[rows] == DeviceKind.KERNEL
    return np.asarray(fits & ~rows_named(names, column, GENERATED.search))


def link(stream: Ints, step: Ints, member: Bools) -> Ints:
    """int64[n]: number of the run of neighbouring members on a stream in a step; NO_GROUP else.

    Args:
        stream, step, member: Of rows in the order of execution; a member alone is a run too.
    """
    order = np.lexsort((np.arange(len(stream)), stream, step))
    inside = member[order]
    begins = inside.copy()
    same = (stream[order][1:] == stream[order][:-1]) & (step[order][1:] == step[order][:-1])
    begins[1:] &= ~(inside[:-1] & same)
    groups = np.full(len(stream), NO_GROUP, dtype=np.int64)
    groups[order] = np.where(inside, np.cumsum(begins) - 1, NO_GROUP)
    return groups


def sizes(groups: Ints) -> Ints:
    """int64[n]: members of the group of each row; 0 outside groups."""
    inside = groups != NO_GROUP
    counts = np.bincount(groups[inside], minlength=1)
    return np.asarray(np.where(inside, counts[np.maximum(groups, 0)], 0))


def chained_launches(launched: Launched) -> Ints:
    """int64[m]: number of the chain of each launch; NO_GROUP outside chains of two or more.

    Launches of several kernels (CUDA graphs) and those of an optimizer's update, which fused
    optimizers replace, are in none.
    """
    timeline = launched.timeline
    rows = timeline.rows[timeline.row_step != NONE]
    step = timeline.row_step[timeline.row_step != NONE]
    work = timeline.recording.device
    launch = np.searchsorted(launched.call, timeline.launches.of_row[rows])
    single = (launched.alone & ~launched.by_update)[launch]
    groups = link(work.stream[rows], step, mergeable(timeline.recording, rows) & single)
    of_launch = np.full(len(launched), NO_GROUP, dtype=np.int64)
    of_launch[launch[single]] = np.where(sizes(groups) > 1, groups, NO_GROUP)[single]
    return of_launch
