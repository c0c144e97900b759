"""Waits that left no record: the host does nothing recorded, until the device has drained."""

from __future__ import annotations

import numpy as np

from boundby.frozen import frozen
from boundby.intervals import EMPTY, Ints, union
from boundby.read.columns import Array
from boundby.read.facts import Facts
from boundby.read.recording import HostKind, Quality
from boundby.read.wording import counted
from boundby.units import NS_PER_MS, NS_PER_US, ms

SHORTEST_NS = NS_PER_MS
"""Of shorter gaps it is chance whether the device drains at their end."""
WAKE_NS = 300 * NS_PER_US
WAKE_SHARE = 0.05
"""The host goes on within both of these, after the device drained: waking, and the loop's code."""
BUSY_SHARE = 0.9
"""How busy the device is until it drains, where it is what the host waits for."""
GRAVE_GAP_SHARE = 0.2
"""Share of the recording that such gaps take together."""


@frozen
class _Gaps:
    """Times in which no submitting thread has an operator or a call, int64 ns."""

    start: Ints
    end: Ints


def find_bare_waits(facts: Facts) -> Quality | None:
    """Gaps on the host that end when a long queue has drained, and not one recorded wait."""
    if not len(facts.busy.end) or not facts.has_work.any() or _records_waits(facts):
        return None
    gaps = _gaps(facts)
    waits = _end_at_drain(facts, gaps)
    waited = int((gaps.end - gaps.start)[waits].sum())
    if waited < GRAVE_GAP_SHARE * facts.span_ns:
        return None
    count = int(waits.sum())
    return Quality(
        "unrecorded-wait",
        "warning",
        count,
        f"The host has {counted(count, 'gap')} of {ms(waited):.0f} ms together that end when the "
        "device has drained, and no wait is recorded at all: calls that wait are missing from the "
        "file, and their time counts as Python here; record again, and cut nothing out.",
    )


def _records_waits(facts: Facts) -> bool:
    """Whether any wait for the device is recorded; a profiler's own at its end is one."""
    names, host = facts.recording.names, facts.recording.host
    waits = np.array(["ynchronize" in name for name in names] or [False])
    return bool(waits[host.name[facts.call]].any())


def _gaps(facts: Facts) -> _Gaps:
    host = facts.recording.host
    mine = np.isin(host.thread, host.thread[facts.has_work])
    acts = mine & ((host.kind == HostKind.OP) | facts.call)
    covered = union(host.start[acts], host.end[acts])
    if not len(covered.end):
        return _Gaps(EMPTY, EMPTY)  # events without length cover nothing
    last = int(host.end[mine].max())
    start, end = covered.end, np.append(covered.start[1:], last)
    long = end - start >= SHORTEST_NS
    return _Gaps(start[long], end[long])


def _end_at_drain(facts: Facts, gaps: _Gaps) -> Array:
    """Which gaps saw a busy device that drained right before they ended."""
    busy = facts.busy
    before = np.searchsorted(busy.end, gaps.end, side="right") - 1
    drained = np.where(before >= 0, busy.end[np.maximum(before, 0)], gaps.start)
    drained = np.maximum(drained, gaps.start)
    worked = busy.within(gaps.start, drained)
    quiet, length = gaps.end - drained, gaps.end - gaps.start
    is_prompt = (quiet <= WAKE_NS) & (quiet <= WAKE_SHARE * length)
    return np.asarray(is_prompt & (worked >= BUSY_SHARE * (drained - gaps.start)), dtype=bool)
