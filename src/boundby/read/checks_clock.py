"""Checks of the two clocks against each other: what a late device clock contradicts."""

from __future__ import annotations

import re

import numpy as np

from boundby.distribution import distinct, percentiles
from boundby.read.facts import Facts
from boundby.read.recording import NONE, DeviceKind, Ints, Quality, Severity
from boundby.read.wording import counted
from boundby.units import NS_PER_US, us

TOLERANCE_NS = 2 * NS_PER_US
"""How far a wait may seem to return before the end of what it waited for."""
LATE_NS = 20 * NS_PER_US
"""A kernel whose device is free starts 1-2 us after its launch call or the work before it (V100 to
H200), up to 14 us on MI300."""
LATE_PERCENTILE = 10
"""The fastest tenth counts: many launches may be late for other reasons, but not all."""
FEWEST_LAUNCHES = 10
GRAVE_SHARE = 0.05
"""Share of a step from which an offset moves the verdict."""
VOID_SHARE = 0.2
"""Share of the recording by which waits cannot return early with any clock."""

_DEVICE_SYNC = re.compile(r"(?:Device|Ctx|Thread)Synchronize")


def find_early_returns(facts: Facts) -> Quality | None:
    """Waits for the whole device that return before what was launched on it is done."""
    over = _overruns(facts)
    over = over[over > TOLERANCE_NS]
    if not len(over):
        return None
    most = int(over.max())
    severity = _severity(facts, most)
    if most > VOID_SHARE * facts.span_ns:
        severity = "fatal"
    return Quality(
        "early-return",
        severity,
        len(over),
        f"{counted(len(over), 'wait')} for the device returned up to {us(most):.0f} us before work "
        "launched earlier was done: the device clock is late, or ends were recorded wrongly. "
        "Distrust waits and idle time.",
    )


def _overruns(facts: Facts) -> Ints:
    """For each device-wide wait, ns by which work launched before it ends after it returned."""
    host, device = facts.recording.host, facts.recording.device
    names = facts.recording.names
    is_sync = np.array([bool(_DEVICE_SYNC.search(name)) for name in names] or [False])
    waits = np.flatnonzero(facts.call & is_sync[host.name])
    rows = np.flatnonzero(facts.call_of != NONE)
    if not len(waits) or not len(rows) or len(distinct(device.device)) > 1:
        return np.zeros(0, dtype=np.int64)
    rows = rows[np.argsort(host.start[facts.call_of[rows]], kind="stable")]
    done = np.maximum.accumulate(device.end[rows])
    before = np.searchsorted(host.end[facts.call_of[rows]], host.start[waits], side="right") - 1
    over = done[np.maximum(before, 0)] - host.end[waits]
    return np.asarray(over[before >= 0], dtype=np.int64)


def find_late_clock(facts: Facts) -> Quality | None:
    """Kernels that all start long after their launch and after all work before them."""
    delay, wait = _delays(facts)
    if len(wait) < FEWEST_LAUNCHES or percentiles(wait, (LATE_PERCENTILE,))[0] < LATE_NS:
        return None
    offset = int(percentiles(delay, (LATE_PERCENTILE,))[0])
    return Quality(
        "late-clock",
        _severity(facts, offset),
        len(wait),
        f"Nine tenths of {len(wait)} kernels start more than {us(LATE_NS):.0f} us after launch and "
        f"earlier work are over (and {us(offset):.0f} us after the launch): the device clock is "
        "late, or the driver holds launches back. Distrust waits and idle time.",
    )


def _delays(facts: Facts) -> tuple[Ints, Ints]:
    """How late the kernel of each plain launch starts, ns.

    After the end of the call; and after the end of call and earlier work, whichever is later.
    """
    host, device = facts.recording.host, facts.recording.device
    before = np.full(len(device), np.iinfo(np.int64).min, dtype=np.int64)
    before[1:] = np.maximum.accumulate(device.end)[:-1]
    rows = np.flatnonzero((facts.call_of != NONE) & (device.kind == DeviceKind.KERNEL))
    call = facts.call_of[rows]
    plain = facts.launch[call] & ~facts.graph_launch[call]
    rows, called = rows[plain], host.end[call[plain]]
    start = device.start[rows]
    return start - called, start - np.maximum(called, before[rows])


def _severity(facts: Facts, offset: int) -> Severity:
    """A warning where the offset is a relevant part of a step."""
    steps = facts.recording.host.dur[facts.step]
    step = float(np.median(steps)) if len(steps) else float(facts.span_ns)
    return "warning" if offset > GRAVE_SHARE * step else "info"
