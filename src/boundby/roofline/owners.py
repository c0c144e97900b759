"""Which operator a device row belongs to: the innermost one around the call that launched it.

Correlation leads from the device row to the call, and time on the call's own thread from the call
to the operator. External ids are not used: some recorders number them apart from operators.
"""

from __future__ import annotations

import numpy as np

from boundby.distribution import distinct
from boundby.intervals import climb, outlasting
from boundby.read.recording import NONE, HostKind, Ints, Recording


def launching_operators(recording: Recording) -> Ints:
    """int64[len(device)]: host row of the operator that launched each device row, NONE if none.

    A launch outside any operator (a graph launch from Python) has none.
    """
    host, work = recording.host, recording.device
    calls = np.flatnonzero((host.kind == HostKind.CALL) & (host.correlation != NONE))
    owner = np.full(len(work), NONE, dtype=np.int64)
    if not len(calls) or not len(work):
        return owner
    order = calls[np.argsort(host.correlation[calls], kind="stable")]
    keys = host.correlation[order]
    position = np.minimum(np.searchsorted(keys, work.correlation), len(keys) - 1)
    matched = (work.correlation != NONE) & (keys[position] == work.correlation)
    rows = distinct(order[position[matched]])
    around = _enclosing_operators(recording, rows)
    owner[matched] = around[np.searchsorted(rows, order[position[matched]])]
    return owner


def _enclosing_operators(recording: Recording, calls: Ints) -> Ints:
    """The innermost operator around each call; NONE where there is none."""
    host = recording.host
    found = np.full(len(calls), NONE, dtype=np.int64)
    ops = np.flatnonzero(host.kind == HostKind.OP)
    ops = ops[np.argsort(host.thread[ops], kind="stable")]
    threads = host.thread[ops]
    order = np.argsort(host.thread[calls], kind="stable")
    first = np.flatnonzero(np.diff(host.thread[calls[order]])) + 1
    for mine in np.split(order, first):
        thread = host.thread[calls[mine[0]]]
        begin, end = np.searchsorted(threads, thread), np.searchsorted(threads, thread, "right")
        held = ops[begin:end]
        if len(held):
            start, dur = host.start[calls[mine]], host.dur[calls[mine]]
            inner = _innermost(host.start[held], host.start[held] + host.dur[held], start, dur)
            found[mine] = np.where(inner == NONE, NONE, held[np.maximum(inner, 0)])
    return found


def _innermost(start: Ints, end: Ints, inner_start: Ints, inner_dur: Ints) -> Ints:
    """Index of the last interval that starts before and ends after each inner one; NONE if none.

    Intervals are nested and ordered by start, the longer first. A call may end a nanosecond after
    its operator (rounding), so its middle is what must be inside.
    """
    middle = inner_start + inner_dur // 2
    at = np.searchsorted(start, inner_start, side="right") - 1
    return climb(outlasting(end), end, at, middle)
