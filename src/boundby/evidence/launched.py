"""The launches inside steps with what they put on the device and the operators around them."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from boundby.evidence.naming import Bools, rows_named
from boundby.evidence.optree import OpTree, build_op_tree, holders
from boundby.intervals import Ints
from boundby.read.recording import NONE, DeviceKind, HostKind, Signature
from boundby.timeline.timeline import Timeline

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Launched:
    """One row a launch inside a step, in host order.

    Attributes:
        tree: The operators around the launches.
        call: int64[m] index into ``Timeline.launches``.
        start: int64[m] ns of the call.
        step: int64[m] step that holds it.
        name: int64[m] name of the first device row it enqueued.
        is_kernel: bool[m] whether that row is a kernel.
        alone: bool[m] whether it enqueued no other row (a CUDA graph enqueues many).
        work: float64[m] ns of device work.
        op: int64[m] node of ``tree``: the innermost operator, or the call itself.
    """

    timeline: Timeline
    tree: OpTree
    call: Ints
    start: Ints
    step: Ints
    name: Ints
    is_kernel: Bools
    alone: Bools
    work: Floats
    op: Ints

    def __len__(self) -> int:
        return len(self.call)

    @property
    def names(self) -> list[str]:
        """``Recording.names``."""
        return self.timeline.recording.names

    @property
    def steps(self) -> int:
        """Number of steps, at least 1."""
        return max(len(self.timeline.steps), 1)

    def kernels(self, pattern: re.Pattern[str]) -> Bools:
        """bool[m]: launches of a kernel with such a name."""
        return self.is_kernel & rows_named(self.names, self.name, pattern.search)

    def by(self, pattern: re.Pattern[str]) -> Bools:
        """bool[m]: launches whose innermost operator has such a name."""
        return rows_named(self.names, self.tree.name[self.op], pattern.search)

    def under(self, pattern: re.Pattern[str]) -> Bools:
        """bool[m]: launches with an operator of such a name around them, at any distance."""
        found = self.by(pattern)
        wanted = rows_named(self.names, self.tree.name, pattern.search)
        if not wanted.any():
            return found
        for position, holder in holders(self.tree.parent, self.op):
            found[position[wanted[holder]]] = True
        return found

    def signatures(self) -> Ints:
        """int64[m]: index into ``Recording.signatures`` of the innermost operator, else NONE."""
        host = self.timeline.recording.host
        return host.signature[self.tree.row[self.op]].astype(np.int64)

    def signature(self, launch: int) -> Signature | None:
        """Arguments of the innermost operator of a launch, where they were recorded."""
        index = int(self.signatures()[launch])
        return None if index == NONE else self.timeline.recording.signatures[index]


def build_launched(timeline: Timeline, tree: OpTree | None = None) -> Launched:
    """Join the launches inside steps with their device work and their operators.

    Args:
        tree: The forest of ``timeline``, where the caller has it already.
    """
    tree = tree or build_op_tree(timeline)
    launches, work = timeline.launches, timeline.recording.device
    of_row = launches.of_row[timeline.rows]
    rows, owner = timeline.rows[of_row != NONE], of_row[of_row != NONE]
    duration = np.bincount(owner, work.dur[rows], minlength=len(launches))
    nodes = np.bincount(owner, minlength=len(launches))
    first = launches.first_row[tree.launch]
    return Launched(
        timeline=timeline,
        tree=tree,
        call=tree.launch,
        start=launches.start[tree.launch],
        step=timeline.launch_step[tree.launch],
        name=work.name[first].astype(np.int64),
        is_kernel=work.kind[first] == DeviceKind.KERNEL,
        alone=nodes[tree.launch] == 1,
        work=duration[tree.launch],
        op=tree.carrier,
    )


def nodes_named(launched: Launched, pattern: re.Pattern[str]) -> Ints:
    """Nodes of the tree that are operators with such a name."""
    tree = launched.tree
    return np.flatnonzero(tree.is_op & rows_named(launched.names, tree.name, pattern.search))


def rows_of_kind(timeline: Timeline, pattern: re.Pattern[str], *kinds: HostKind) -> Ints:
    """Host rows of these kinds and names on submitting threads that start inside a step."""
    host = timeline.recording.host
    rows = np.flatnonzero(np.isin(host.kind, kinds))
    rows = rows[rows_named(timeline.recording.names, host.name[rows], pattern.search)]
    return rows[timeline.steps.of(host.start[rows]) != NONE]
