"""The start of a program, cut off: nsys records whole programs, and a verdict is about their steps.

The first launches load code and the first allocation makes a context; each takes tens of
milliseconds on an idle device and none of it belongs to a step of a long run.
"""

from __future__ import annotations

import re

import numpy as np

from boundby.intervals import Ints, union
from boundby.read.checks_host import COLD_CALL_NS, IDLE_SHARE
from boundby.read.columns import Array, Table, length, take
from boundby.read.recording import NONE, HostKind, Quality
from boundby.units import ms

LEAST_LEFT = 0.5
"""Share of the launches that must come after the cut: else the recording is the warm-up."""
_WAIT = re.compile(r"Synchronize|Memcpy|Memset|Query|WaitEvent|EventRecord|Launch(Host|Coop)")
"""Calls that may last long when warm, since they wait for the device or run the user's code."""


def cut_warm_up(names: list[str], host: Table, device: Table, waits: Table) -> Quality | None:
    """Remove all rows up to the last cold call that comes early (in place), and say so.

    Rows must be ordered. Device rows go with their launch; without one, by their own start.
    """
    cold = _cold_ends(names, host, device)
    launches = _launch_starts(host, device)
    if not len(cold) or not len(launches):
        return None
    left = len(launches) - np.searchsorted(launches, cold)
    early = cold[left >= LEAST_LEFT * len(launches)]
    if not len(early):
        return None
    cut = int(early[-1])
    begin = int(min(host["start"][0], device["start"][0]))
    removed = host["start"] < cut
    gone = np.unique(host["correlation"][removed & (host["correlation"] != NONE)])
    for table in (device, waits):
        take(table, ~(np.isin(table["correlation"], gone) | (table["start"] < cut)))
    take(host, ~removed)
    count = int(np.searchsorted(cold, cut, side="right"))
    return Quality(
        "warm-up-left-out",
        "info",
        int(removed.sum()),
        f"The first {ms(cut - begin):.0f} ms of the recording hold {count} calls that load code or "
        "make a context; they are no step of a long run and were left out.",
    )


def _cold_ends(names: list[str], host: Table, device: Table) -> Ints:
    """Ends of long calls during which the device was idle, in order."""
    is_wait = np.array([bool(_WAIT.search(name)) for name in names] or [False])
    long = (host["kind"] == HostKind.CALL) & (host["dur"] >= COLD_CALL_NS) & ~is_wait[host["name"]]
    start, end = host["start"][long], (host["start"] + host["dur"])[long]
    busy = union(device["start"], device["start"] + device["dur"]).within(start, end)
    return np.sort(end[busy < IDLE_SHARE * (end - start)])


def _launch_starts(host: Table, device: Table) -> Array:
    """Starts of the calls that enqueued device work, in order."""
    if not length(device):
        return np.zeros(0, dtype=np.int64)
    is_launch = (host["kind"] == HostKind.CALL) & (host["correlation"] != NONE)
    is_launch &= np.isin(host["correlation"], device["correlation"])
    return np.asarray(host["start"][is_launch])
