"""The launches inside steps with what they put on the device and the operators around them."""

from __future__ import annotations

import re
from functools import cached_property

import numpy as np
import numpy.typing as npt

from boundby.evidence.naming import Bools, rows_named
from boundby.evidence.optree import OpTree, build_op_tree, holders
from boundby.evidence.phases import OPTIMIZER, updates
from boundby.frozen import frozen
from boundby.intervals import Intervals, Ints, union
from boundby.read.recording import NONE, DeviceKind, HostKind
from boundby.roofline.arguments import Arguments, decode
from boundby.roofline.costs import UncountedError
from boundby.timeline.hostline import LineKind
from boundby.timeline.timeline import Timeline

Floats = npt.NDArray[np.float64]
FUSED_UPDATE = re.compile(r"^aten::_fused_(adam|adamw|sgd|adagrad)")


@frozen
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

    @cached_property
    def operators_by_name(self) -> tuple[Ints, list[int], list[int]]:
        """Operator nodes grouped by name, the names, and where each group begins and ends."""
        nodes = np.flatnonzero(self.tree.is_op)
        column = self.tree.name[nodes].astype(np.int32)
        order = np.argsort(column, kind="stable")
        names, begins = np.unique(column[order], return_index=True)
        return nodes[order], names.tolist(), [*begins.tolist(), len(nodes)]

    @cached_property
    def ranges(self) -> Ints:
        """Host rows of named ranges that start inside a step."""
        host = self.timeline.recording.host
        rows = np.flatnonzero(host.kind == HostKind.RANGE)
        return rows[self.timeline.steps.of(host.start[rows]) != NONE]

    @cached_property
    def updates(self) -> Intervals:
        """When an optimizer updates: by its ranges, or its fused operators without ranges."""
        if len(self.rows(OPTIMIZER)):
            return updates(self.timeline).when
        host, rows = self.timeline.recording.host, self.tree.row[nodes_named(self, FUSED_UPDATE)]
        return union(host.start[rows], host.end[rows])

    @cached_property
    def by_update(self) -> Bools:
        """bool[m]: launches made while an optimizer updates."""
        inside = self.updates.within(self.start, self.start + 1)
        return np.asarray(inside > 0, dtype=np.bool_)

    @cached_property
    def host_ns(self) -> int:
        """Recorded host time of the steps, without the profiler's own."""
        steps = self.timeline.steps
        spent = self.timeline.line.time_by_kind(steps.start, steps.end).sum(axis=0)
        return int(spent.sum() - spent[LineKind.OVERHEAD])

    def rows(self, pattern: re.Pattern[str]) -> Ints:
        """Host rows of ranges and operators with such a name inside steps.

        Recordings of 2021 hold as operators what later ones hold as ranges.
        """
        names = self.timeline.recording.host.name[self.ranges]
        ranges = self.ranges[rows_named(self.names, names, pattern.search)]
        return np.concatenate((ranges, self.tree.row[nodes_named(self, pattern)]))

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

    def arguments(self, signature: int) -> Arguments | None:
        """Arguments by index of their signature; None where nothing usable was recorded."""
        if signature == NONE:
            return None
        try:
            return decode(self.timeline.recording.signatures[signature])
        except UncountedError:
            return None


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
        work=duration[tree.launch].astype(np.float64),
        op=tree.carrier,
    )


def nodes_named(launched: Launched, pattern: re.Pattern[str]) -> Ints:
    """Nodes of the tree that are operators with such a name, rising."""
    order, names, bounds = launched.operators_by_name
    found = [
        order[begin:end]
        for name, begin, end in zip(names, bounds, bounds[1:], strict=False)
        if pattern.search(launched.names[name])
    ]
    return np.sort(np.concatenate(found)) if found else np.zeros(0, dtype=np.int64)
