"""Checks of how long events last: none can outlast the recording, its step, or have no length."""

from __future__ import annotations

import numpy as np

from boundby.read.columns import Array
from boundby.read.facts import Facts
from boundby.read.recording import NONE, HostKind, Ints, Quality, Severity
from boundby.read.wording import counted
from boundby.units import NS_PER_S, NS_PER_US, ms

FEW_ROWS = 10
"""Of fewer events none is usual."""
OUTLASTING = 1.0
VOID_OUTLASTING = 10.0
"""An event that goes on this many times as long as all before the last begin of any event."""
CROSSING_NS = NS_PER_US
"""Both ends are rounded, each by less."""
LONG_SHARE = 0.7
"""Share of the device time above which one event is not usual: an exposed collective that waits
for other ranks has reached 0.64 in recordings of one step."""
LONGEST_CALLS = 8
"""How many of the longest calls may have waited for a long event."""
NO_LENGTH_SHARE = 0.05
"""Old recordings round to microseconds: up to 3.4% of their kernels have no length."""
VOID_NO_LENGTH_SHARE = 0.5


def find_outlasting(facts: Facts) -> Quality | None:
    """Events that go on long after the last event of any kind has begun.

    Waits are another check, and work that a wait lasted for is lawful. So is a range in which the
    recording was stopped and written: it is open until that is done.
    """
    host, device = facts.recording.host, facts.recording.device
    program = (host.kind != HostKind.OVERHEAD) & ~facts.blocking & ~facts.label
    starts = np.concatenate((host.start, device.start))
    if len(starts) < FEW_ROWS:
        return None
    first, last = int(starts.min()), int(starts.max())
    span = max(last - first, 1)
    until = last + OUTLASTING * span
    work = np.flatnonzero(device.end > until)
    work = work[~_awaited(facts, work)] if len(work) else work
    outlasting = np.concatenate((host.end[program & (host.end > until)], device.end[work])) - last
    if not len(outlasting):
        return None
    longest = int(outlasting.max())
    severity: Severity = "fatal" if longest > VOID_OUTLASTING * span else "warning"
    return Quality(
        "outlasting-events",
        severity,
        len(outlasting),
        f"{counted(len(outlasting), 'event')} going on for {_length(longest)} after the last event "
        f"began, in a recording of {_length(span)} until then: their end was recorded wrongly, or "
        "what followed is missing. Record again.",
    )


def _awaited(facts: Facts, rows: Ints) -> Array:
    """Mask of device rows that some call lasted for: it ran for half of one, up to its end."""
    host, device = facts.recording.host, facts.recording.device
    calls = np.flatnonzero(facts.call)
    longest = calls[np.argsort(host.dur[calls])[::-1][:LONGEST_CALLS]]
    found = np.zeros(len(rows), dtype=bool)
    start, end = device.start[rows], device.end[rows]
    for call in longest.tolist():
        began, returned = int(host.start[call]), int(host.end[call])
        half = 2 * (np.minimum(end, returned) - np.maximum(start, began)) >= end - start
        found |= half & (began < end) & (2 * (returned - began) <= 3 * (end - start))
    return found


def _length(ns: int) -> str:
    return f"{ns / NS_PER_S:.1f} s" if ns >= NS_PER_S else f"{ms(ns):.3g} ms"


def find_crossing(facts: Facts) -> Quality | None:
    """Operators and calls that begin inside a step of their thread and end after it."""
    host = facts.recording.host
    steps = np.flatnonzero(facts.step & (host.thread == facts.recording.main_thread))
    if not len(steps):
        return None
    inner = (host.kind == HostKind.OP) | (host.kind == HostKind.CALL)
    rows = np.flatnonzero(inner & (host.thread == facts.recording.main_thread))
    holder = steps[np.maximum(np.searchsorted(host.start[steps], host.start[rows], "right") - 1, 0)]
    until = host.end[holder]
    is_inside = (host.start[holder] <= host.start[rows]) & (host.start[rows] < until)
    over = (host.end[rows] - until)[is_inside]
    over = over[over > CROSSING_NS]
    if not len(over):
        return None
    return Quality(
        "crossing-events",
        "warning",
        len(over),
        f"{counted(len(over), 'operator')} or calls begun inside a step and ended up to "
        f"{_length(int(over.max()))} after it, which none can: ends were recorded wrongly.",
    )


def find_one_long(facts: Facts) -> Quality | None:
    """One launched event that takes most of the device time, and that no call waited for."""
    dur = facts.recording.device.dur[facts.call_of != NONE]
    if len(dur) < FEW_ROWS:
        return None
    longest = np.flatnonzero(facts.call_of != NONE)[[int(dur.argmax())]]
    share = int(dur.max()) / max(int(dur.sum()), 1)
    if share < LONG_SHARE or bool(_awaited(facts, longest)[0]):
        return None
    return Quality(
        "one-long-event",
        "warning",
        1,
        f"One device event takes {share:.0%} of the device time ({_length(int(dur.max()))}): steps "
        "are not alike, or its end was recorded wrongly. Record more steps.",
    )


def find_no_length(facts: Facts) -> Quality | None:
    """Device events that last no time, or of which no duration was recorded."""
    dur: Ints = facts.recording.device.dur
    none: Array = dur == 0
    count = int(none.sum())
    if not count:
        return None
    share = count / len(dur)
    severity: Severity = "info"
    if share > VOID_NO_LENGTH_SHARE:
        severity = "fatal"
    elif share > NO_LENGTH_SHARE:
        severity = "warning"
    return Quality(
        "no-length",
        severity,
        count,
        f"{count} of {len(dur)} device events have no length: their duration was not recorded or "
        "rounded away, so the device was busier than it looks here.",
    )
