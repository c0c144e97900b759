"""Elementwise kernels that a compiler or a fused operator could merge."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from boundby.evidence.facts import Evidence
from boundby.evidence.naming import Bools, rows_named
from boundby.evidence.optree import OpTree
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
    rows = timeline.rows[timeline.row_step != NONE]
    device = recording.device
    simple = rows_named(recording.names, device.name[rows], lambda name: ELEMENTWISE in name)
    simple &= device.kind[rows] == DeviceKind.KERNEL
    if simple.sum() < MANY * steps:
        return
    dur = device.dur[rows]
    share = float(dur[simple].sum() / max(dur.sum(), 1))
    if max(share, float(simple.mean())) < WORTH_SAYING:
        return
    following = int(_follows(device.stream[rows], simple).sum())
    operators = ", ".join(_leading_operators(timeline, tree, rows[simple]))
    yield Evidence(
        "fusion-candidates",
        share,
        "share",
        f"{simple.sum() / steps:.0f} elementwise kernels a step of {us(dur[simple].mean()):.3g} us "
        f"each take {share:.0%} of device time, {following / steps:.0f} of them directly after "
        f"another one" + (f"; most come from {operators}" if operators else ""),
        "measured",
    )


def _follows(stream: Ints, simple: Bools) -> Bools:
    """bool[n]: whether a row and the one before it on its stream are both elementwise."""
    order = np.argsort(stream, kind="stable")
    pairs = simple[order][1:] & simple[order][:-1] & (stream[order][1:] == stream[order][:-1])
    follows = np.zeros(len(stream), dtype=np.bool_)
    follows[order[1:]] = pairs
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
