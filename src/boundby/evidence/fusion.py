"""Elementwise kernels that a compiler or a fused operator could merge."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from boundby.evidence.facts import Evidence
from boundby.evidence.naming import Bools, rows_named
from boundby.evidence.optree import OpTree
from boundby.evidence.words import counted, figure, listed
from boundby.intervals import Ints
from boundby.read.recording import NONE, DeviceKind
from boundby.timeline.timeline import Timeline
from boundby.units import us

ELEMENTWISE = "elementwise"
"""In the name of every kernel that ATen's TensorIterator launches, of CUDA and HIP alike; kernels
fused by a compiler (``triton_poi_fused_...``) or over tensor lists are named otherwise."""
MANY = 10
"""Elementwise kernels a step below which there is little to merge."""
WORTH_SAYING = 0.05
"""Share of device time or of kernels from which merging them matters."""
NAMED = 3
"""Operators named in the sentence."""


def fusion_facts(timeline: Timeline, tree: OpTree) -> Iterator[Evidence]:
    """``fusion-candidates``: share of device time in elementwise kernels, if they are many."""
    recording, steps = timeline.recording, len(timeline.steps)
    inside = timeline.row_step != NONE
    rows, step = timeline.rows[inside], timeline.row_step[inside]
    device = recording.device
    simple = rows_named(recording.names, device.name[rows], lambda name: ELEMENTWISE in name)
    simple &= device.kind[rows] == DeviceKind.KERNEL
    if simple.sum() < MANY * steps:
        return
    dur = device.dur[rows]
    share = float(dur[simple].sum() / max(dur.sum(), 1))
    if max(share, float(simple.mean())) < WORTH_SAYING:
        return
    yield Evidence(
        "fusion-candidates",
        share,
        "share",
        f"{counted(simple.sum() / steps, 'elementwise kernel')} a step of "
        f"{figure(us(dur[simple].mean()))} us each take {share:.0%} of device time"
        + _neighbours(int(_follows(device.stream[rows], step, simple).sum()) / steps)
        + _origin(_leading_operators(timeline, tree, rows[simple])),
        "measured",
    )


def _neighbours(pairs: float) -> str:
    return f", {figure(pairs)} of them right after another one" if pairs else ""


def _origin(operators: list[str]) -> str:
    return f"; most of it from {listed(operators)}" if operators else ""


def _follows(stream: Ints, step: Ints, simple: Bools) -> Bools:
    """bool[n]: whether a row and the one before it on its stream and step are both elementwise."""
    order = np.lexsort((step, stream))
    before, after = order[:-1], order[1:]
    pairs = simple[before] & simple[after]
    pairs &= (stream[before] == stream[after]) & (step[before] == step[after])
    follows = np.zeros(len(stream), dtype=np.bool_)
    follows[after] = pairs
    return follows


def _leading_operators(timeline: Timeline, tree: OpTree, rows: Ints) -> list[str]:
    """Names of the operators that launched most of the device time of the rows."""
    launch = timeline.launches.of_row[rows]
    node = tree.carrier[np.searchsorted(tree.launch, launch)]
    known = tree.is_op[node]
    dur = timeline.recording.device.dur[rows[known]]
    time = np.bincount(tree.name[node[known]], dur)
    leading = np.argsort(-time, kind="stable")[:NAMED]
    return [timeline.recording.names[name] for name in leading.tolist() if time[name] > 0]
