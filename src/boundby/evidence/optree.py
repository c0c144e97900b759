"""Operators and calls inside the steps as a forest, nested by time on their thread."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

import numpy as np
import numpy.typing as npt

from boundby.frozen import frozen
from boundby.intervals import Ints
from boundby.read.recording import NONE, HostKind, Ints32
from boundby.timeline.nesting import parents
from boundby.timeline.timeline import Timeline


@frozen
class OpTree:
    """Operators and runtime calls that start inside a step, on any thread.

    Attributes:
        row: int64[n] row of ``Recording.host``, rising.
        start, end: int64[n] ns.
        thread: int32[n] index into ``Recording.threads``.
        name: int32[n] index into ``Recording.names``.
        is_op: bool[n], False for calls.
        parent: int64[n] node that holds each node; NONE at the top.
        launch: int64[m] index into ``Timeline.launches`` of the launches inside steps.
        carrier: int64[m] node that each launch's device work counts for: the innermost operator
            around the call, or the call itself where no operator is.
    """

    row: Ints
    start: Ints
    end: Ints
    thread: Ints32
    name: Ints32
    is_op: npt.NDArray[np.bool_]
    parent: Ints
    launch: Ints
    carrier: Ints

    def __len__(self) -> int:
        return len(self.row)

    @cached_property
    def outermost(self) -> npt.NDArray[np.bool_]:
        """bool[n]: whether no node of the same name holds the node, at any distance."""
        kept = np.ones(len(self), dtype=np.bool_)
        for position, holder in holders(self.parent, np.arange(len(self))):
            kept[position[self.name[holder] == self.name[position]]] = False
        return kept

    @cached_property
    def self_time(self) -> Ints:
        """int64[n] ns of each node without its direct children, as far as they lie inside it."""
        child = np.flatnonzero(self.parent != NONE)
        parent = self.parent[child]
        inside = np.minimum(self.end[child], self.end[parent]) - self.start[child]
        children = np.bincount(parent, inside, minlength=len(self)).astype(np.int64)
        return np.asarray(np.maximum(self.end - self.start - children, 0))


def build_op_tree(timeline: Timeline) -> OpTree:
    """Nest the operators and calls of the steps."""
    host = timeline.recording.host
    row = np.flatnonzero((host.kind == HostKind.OP) | (host.kind == HostKind.CALL))
    row = row[timeline.steps.of(host.start[row]) != NONE]
    start, end, thread = host.start[row], host.end[row], host.thread[row]
    is_op = host.kind[row] == HostKind.OP
    parent = parents(start, end, thread)
    launch = np.flatnonzero(timeline.launch_step != NONE)
    call = np.searchsorted(row, timeline.launches.row[launch]).astype(np.int64)
    name = host.name[row]
    carrier = _innermost_op(parent, is_op, call)
    return OpTree(row, start, end, thread, name, is_op, parent, launch, carrier)


def holders(parent: Ints, nodes: Ints) -> Iterator[tuple[Ints, Ints]]:
    """Every node that holds one of the given nodes, level by level from the inside out.

    Yields:
        Positions in ``nodes``, and for each of them the holder one level further out.
    """
    holder = parent[nodes]
    position = np.flatnonzero(holder != NONE)
    holder = holder[position]
    while len(position):
        yield position, holder
        holder = parent[holder]
        position, holder = position[holder != NONE], holder[holder != NONE]


def operators_inside(tree: OpTree) -> Ints:
    """int64[n]: operators that a node holds, at any distance."""
    inside = np.zeros(len(tree), dtype=np.int64)
    for _, holder in holders(tree.parent, np.flatnonzero(tree.is_op)):
        inside += np.bincount(holder, minlength=len(tree))
    return inside


def launches_inside(tree: OpTree) -> Ints:
    """int64[n]: launches whose carrier a node is or holds."""
    inside = np.bincount(tree.carrier, minlength=len(tree)).astype(np.int64)
    for _, holder in holders(tree.parent, tree.carrier):
        inside += np.bincount(holder, minlength=len(tree))
    return inside


def _innermost_op(parent: Ints, is_op: npt.NDArray[np.bool_], calls: Ints) -> Ints:
    """The innermost operator around each call, or the call itself."""
    found = calls.copy()
    open_ = np.ones(len(calls), dtype=np.bool_)
    for position, holder in holders(parent, calls):
        first = open_[position] & is_op[holder]
        found[position[first]] = holder[first]
        open_[position[first]] = False
    return np.asarray(found)
