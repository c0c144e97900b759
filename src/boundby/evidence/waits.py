"""Calls that make the host wait for the device, and what the device still had to do then."""

from __future__ import annotations

import numpy as np

from boundby.distribution import distinct
from boundby.evidence.naming import Bools
from boundby.evidence.optree import OpTree
from boundby.frozen import frozen
from boundby.intervals import Ints
from boundby.read.recording import NONE
from boundby.timeline.blocking import blocking_copies
from boundby.timeline.calls import SYNC_KINDS, CallKind
from boundby.timeline.edges import at_edges
from boundby.timeline.timeline import Timeline


@frozen
class HostWaits:
    """Host waits inside steps, ordered by start.

    Attributes:
        node: int64[n] index into the OpTree, a call.
        kind: int64[n] CallKind; COPY for a pageable copy that held the host.
    """

    node: Ints
    kind: Ints


def find_waits(timeline: Timeline, tree: OpTree) -> HostWaits:
    """Waits, blocking copies and allocator calls of the submitting threads, each wait once.

    Waits at the edges of the window belong to the recording and are left out. A call inside
    another (a driver's inside a runtime's), and a wait that only follows up on a blocking copy
    of the same operator, are the same wait.
    """
    if not len(tree.launch):
        return HostWaits(np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64))
    kind = np.where(tree.is_op, CallKind.OTHER, timeline.calls[tree.name]).astype(np.int64)
    waits = np.isin(kind, (*SYNC_KINDS, CallKind.BLOCKING_COPY, CallKind.ALLOCATOR))
    copies = np.searchsorted(tree.row, timeline.launches.row[blocking_inside(timeline)])
    waits[copies], kind[copies] = True, CallKind.COPY
    waits &= np.isin(tree.thread, timeline.line.threads)
    synchronises = np.flatnonzero(waits & np.isin(kind, SYNC_KINDS))
    waits[synchronises] = ~at_edges(timeline, tree.start[synchronises])
    waits[waits] = ~waits[tree.parent[waits]] | (tree.parent[waits] == NONE)
    node = np.flatnonzero(waits)
    node = node[~_follows_up(tree, node, kind[node])]
    return HostWaits(node, kind[node])


def blocking_inside(timeline: Timeline) -> Ints:
    """Launches inside steps that are blocking copies."""
    return np.flatnonzero(blocking_copies(timeline) & (timeline.launch_step != NONE))


def outstanding(timeline: Timeline, times: Ints) -> Ints:
    """Ns of device work submitted before each time and not done by then, summed over streams."""
    launches, work, rows = timeline.launches, timeline.recording.device, timeline.rows
    of_row = launches.of_row[rows]
    start, end = work.start[rows], work.end[rows]
    known = np.where(of_row == NONE, start, launches.start[np.maximum(of_row, 0)])
    order = np.argsort(known, kind="stable")
    submitted = np.concatenate(([0], np.cumsum((end - start)[order])))
    asked = submitted[np.searchsorted(known[order], times, side="left")]
    done = _passed(start, times) - _passed(end, times)
    return np.asarray(np.maximum(asked - done, 0))


def _passed(moments: Ints, times: Ints) -> Ints:
    """Sum over the moments before each time of how long ago they were."""
    moments = np.sort(moments)
    total = np.concatenate(([0], np.cumsum(moments)))
    before = np.searchsorted(moments, times, side="right")
    return np.asarray(before * times - total[before], dtype=np.int64)


def _follows_up(tree: OpTree, node: Ints, kind: Ints) -> Bools:
    """Whether a wait comes right after a blocking copy inside the same operator."""
    follows = np.zeros(len(node), dtype=np.bool_)
    for thread in distinct(tree.thread[node]):
        mine = np.flatnonzero(tree.thread[node] == thread)
        before, after = mine[:-1], mine[1:]
        shared = tree.parent[node[before]] == tree.parent[node[after]]
        shared &= tree.parent[node[after]] != NONE
        follows[after] = shared & (kind[before] == CallKind.COPY) & np.isin(kind[after], SYNC_KINDS)
    return follows
