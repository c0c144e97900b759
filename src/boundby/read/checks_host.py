"""Checks of what the host did: present, warmed up, and waiting only for recorded work."""

from __future__ import annotations

import numpy as np

from boundby.read.checks_waits import find_bare_waits
from boundby.read.columns import Array
from boundby.read.facts import Facts
from boundby.read.recording import HostKind, Quality
from boundby.read.wording import counted
from boundby.units import NS_PER_MS, ms

COLD_CALL_NS = 20 * NS_PER_MS
"""No warm launch takes this long on an idle device: it loads a module or builds a context."""
COLD_CALL_SHARE = 0.2
COLD_CALL_MIN_NS = 2 * NS_PER_MS
"""In a short recording a launch this long that also fills a fifth of it is cold as well."""
IDLE_SHARE = 0.5
"""A launch that waits for a full queue sees a busy device; a cold one an idle one."""
GRAVE_COLD_SHARE = 0.1
GRAVE_WAIT_SHARE = 0.2
UNEXPLAINED_BUSY_SHARE = 0.05
GRAVE_OVERHEAD_SHARE = 0.05


def find_missing_host(facts: Facts) -> Quality | None:
    """No host event at all: who keeps the device waiting cannot be told."""
    if len(facts.recording.host) or len(facts.recording.python):
        return None
    return Quality(
        "no-host-events",
        "fatal",
        0,
        "The recording holds device events only, so what the host did between them cannot be "
        "told: record with ProfilerActivity.CPU as well.",
    )


def _busy_share(facts: Facts, rows: Array) -> Array:
    host = facts.recording.host
    start, end = host.start[rows], host.end[rows]
    return np.asarray(facts.busy.within(start, end) / np.maximum(end - start, 1))


def find_cold_start(facts: Facts) -> Quality | None:
    """Plain launch calls that take as long as loading code does, on an idle device."""
    host = facts.recording.host
    long = (host.dur >= COLD_CALL_NS) | (
        (host.dur >= COLD_CALL_MIN_NS) & (host.dur >= COLD_CALL_SHARE * facts.span_ns)
    )
    rows = np.flatnonzero(facts.launch & ~facts.graph_launch & ~facts.captured & long)
    rows = rows[_busy_share(facts, rows) < IDLE_SHARE]
    if not len(rows):
        return None
    cold = int(host.dur[rows].sum())
    active = facts.recording.window_ns[1] - int(host.start[facts.launch].min())
    is_grave = cold >= GRAVE_COLD_SHARE * active
    return Quality(
        "cold-start",
        "fatal" if is_grave else "warning",
        len(rows),
        f"{counted(len(rows), 'launch call')} took {ms(cold):.0f} of {ms(active):.0f} ms while "
        "the device was idle: code was being loaded; skip the first steps with "
        "schedule(wait=1, warmup=3, active=3).",
    )


def find_unrecorded_wait(facts: Facts) -> Quality | None:
    """The host waits for a device that has nothing to do: work is missing; or waits are."""
    host = facts.recording.host
    if not facts.kernel.any():
        return None
    rows = np.flatnonzero(facts.blocking & (host.dur >= GRAVE_WAIT_SHARE * facts.span_ns))
    rows = rows[_busy_share(facts, rows) < UNEXPLAINED_BUSY_SHARE]
    if not len(rows):
        return find_bare_waits(facts)
    longest = int(host.dur[rows].max())
    return Quality(
        "unrecorded-wait",
        "fatal",
        len(rows),
        f"The host waited {ms(longest):.0f} ms for a device that shows no work meanwhile: what it "
        "waited for was cut away or not recorded; record whole steps, all devices and streams.",
    )


def find_idle_steps(facts: Facts) -> Quality | None:
    """Steps in which nothing was launched."""
    host = facts.recording.host
    steps = np.flatnonzero(facts.step)
    if not len(steps) or not facts.kernel.any() or facts.is_incomplete:
        return None
    launches = host.start[facts.has_work]
    until = np.searchsorted(launches, host.end[steps])
    idle = int((until == np.searchsorted(launches, host.start[steps])).sum())
    if not idle:
        return None
    return Quality(
        "idle-steps",
        "warning",
        idle,
        f"{idle} of {len(steps)} steps launched no device work: the mean over steps hides that "
        "they differ.",
    )


def find_profiler_overhead(facts: Facts) -> Quality | None:
    """Time the profiler spent on itself inside the recording."""
    host = facts.recording.host
    rows = host.kind == HostKind.OVERHEAD
    total = int(host.dur[rows].sum())
    if not total:
        return None
    share = total / max(facts.span_ns, 1)
    return Quality(
        "profiler-overhead",
        "warning" if share > GRAVE_OVERHEAD_SHARE else "info",
        int(rows.sum()),
        f"The profiler spent {ms(total):.1f} ms on itself ({share:.1%} of the recording), which is "
        "not the program's time.",
    )
