"""Kernels that a compiler or a fused operator could merge, as they are seen without any size."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from boundby.evidence.chains import link, mergeable
from boundby.evidence.facts import Evidence
from boundby.evidence.optree import OpTree
from boundby.evidence.words import counted, figure, listed
from boundby.intervals import Ints
from boundby.read.recording import NONE
from boundby.timeline.timeline import Timeline
from boundby.units import us

MANY = 10
"""Such kernels a step below which there is little to merge."""
WORTH_SAYING = 0.05
"""Share of device time or of kernels from which merging them matters."""
NAMED = 3
"""Operators named in the sentence."""


def fusion_facts(timeline: Timeline, tree: OpTree) -> Iterator[Evidence]:
    """``fusion-candidates``: share of device time in kernels that could be merged, if many."""
    recording, steps = timeline.recording, len(timeline.steps)
    inside = timeline.row_step != NONE
    rows, step = timeline.rows[inside], timeline.row_step[inside]
    device = recording.device
    simple = mergeable(recording, rows)
    if simple.sum() < MANY * steps:
        return
    dur = device.dur[rows]
    share = float(dur[simple].sum() / max(dur.sum(), 1))
    if max(share, float(simple.mean())) < WORTH_SAYING:
        return
    groups = link(device.stream[rows], step, simple)
    follow = int(simple.sum()) - (int(groups.max()) + 1)
    yield Evidence(
        "fusion-candidates",
        share,
        "share",
        f"{counted(simple.sum() / steps, 'kernel')} a step that could be merged (elementwise "
        f"work, reductions, norms), {figure(us(dur[simple].mean()))} us each, take {share:.0%} of "
        "device time"
        + _neighbours(follow / steps)
        + _origin(_leading_operators(timeline, tree, rows[simple])),
        "measured",
    )


def _neighbours(pairs: float) -> str:
    return f", {figure(pairs)} of them right after another one" if pairs else ""


def _origin(operators: list[str]) -> str:
    return f"; most of it from {listed(operators)}" if operators else ""


def _leading_operators(timeline: Timeline, tree: OpTree, rows: Ints) -> list[str]:
    """Names of the operators that launched most of the device time of the rows."""
    launch = timeline.launches.of_row[rows]
    node = tree.carrier[np.searchsorted(tree.launch, launch)]
    known = tree.is_op[node]
    dur = timeline.recording.device.dur[rows[known]]
    time = np.bincount(tree.name[node[known]], dur)
    leading = np.argsort(-time, kind="stable")[:NAMED]
    return [timeline.recording.names[name] for name in leading.tolist() if time[name] > 0]
