"""Operators and calls inside the steps as a forest, nested by time on their thread."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from itertools import pairwise

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
        """bool[n]: whether no node of the same name holds the node, at any distance.

        On one thread nodes stand in the order in which they are entered, so a node holds those up
        to the size of its subtree.
        """
        order = np.lexsort((self.row, self.thread))
        place = np.empty(len(self), dtype=np.int32)  # rows of a recording fit, and memory counts
        place[order] = np.arange(len(self), dtype=np.int32)
        del order
        held = sums_inside(self.parent, np.ones(len(self), dtype=np.int64)).astype(np.int32)
        grouped = np.lexsort((place, self.name))
        at = place[grouped]
        until = at + held[grouped]
        kept = np.ones(len(self), dtype=np.bool_)
        begins = np.flatnonzero(np.diff(self.name[grouped])) + 1
        for first, end in pairwise((0, *begins.tolist(), len(self))):
            reach = np.maximum.accumulate(until[first : end - 1])
            kept[grouped[first + 1 : end]] = at[first + 1 : end] > reach
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


def sums_inside(parent: Ints, own: Ints) -> Ints:
    """int64[n]: what the nodes that a node holds have together, at any distance."""
    inside = np.zeros(len(parent), dtype=np.int64)
    for nodes in reversed(_levels(parent)):
        held = nodes[parent[nodes] != NONE]
        np.add.at(inside, parent[held], inside[held] + own[held])
    return inside


def _levels(parent: Ints) -> list[Ints32]:
    """Nodes by depth, outermost first; each is in one level, so that depth costs nothing extra."""
    depth = (parent != NONE).astype(np.int32)
    jump = parent.astype(np.int32)
    while (jump != NONE).any():
        moved = np.flatnonzero(jump != NONE)
        depth[moved] += depth[jump[moved]]
        jump[moved] = jump[jump[moved]]
    del jump
    order = np.argsort(depth, kind="stable").astype(np.int32)
    return list(np.split(order, np.flatnonzero(np.diff(depth[order])) + 1))


def operators_inside(tree: OpTree) -> Ints:
    """int64[n]: operators that a node holds, at any distance."""
    return sums_inside(tree.parent, tree.is_op.astype(np.int64))


def launches_inside(tree: OpTree) -> Ints:
    """int64[n]: launches whose carrier a node is or holds."""
    own = np.bincount(tree.carrier, minlength=len(tree)).astype(np.int64)
    return own + sums_inside(tree.parent, own)


def _innermost_op(parent: Ints, is_op: npt.NDArray[np.bool_], calls: Ints) -> Ints:
    """The innermost operator around each call, or the call itself."""
    holder = parent.copy()
    while True:
        further = np.flatnonzero((holder != NONE) & ~is_op[np.maximum(holder, 0)])
        if not len(further):
            break
        holder[further] = holder[holder[further]]
    return np.asarray(np.where(holder[calls] == NONE, calls, holder[calls]))
