"""The start of a program, cut off: nsys records whole programs, and a verdict is about their steps.

The first launches load code and the first allocation makes a context; each takes tens of
milliseconds on an idle device and none of it belongs to a step of a long run.
"""

from __future__ import annotations

import re

import numpy as np

from boundby.distribution import distinct
from boundby.frozen import frozen
from boundby.intervals import Ints, union
from boundby.read.checks_host import COLD_CALL_NS, GRAVE_COLD_SHARE, IDLE_SHARE
from boundby.read.columns import Array, Table, length, take
from boundby.read.recording import NONE, HostKind, Quality
from boundby.read.wording import counted
from boundby.units import ms

LEAST_LEFT = 0.5
"""Share of the launches that must come after the cut: else the recording is the warm-up."""
LEAST_LAUNCHES = 200
"""And so many launches: fewer are a few passes at most, themselves not warm."""
_WAIT = re.compile(r"Synchronize|Memcpy|Memset|Query|WaitEvent|EventRecord|LaunchHost")
"""Calls that may last long when warm, since they wait for the device or run the user's code."""


@frozen
class _Cold:
    """Long calls on an idle device: their ends in order, and their summed time, ns."""

    end: Ints
    total: int


def cut_warm_up(names: list[str], host: Table, device: Table, waits: Table) -> Quality | None:
    """Remove all rows up to the last cold call that comes early (in place), and say so.

    Where too little would be left and the cold calls take a tenth of the recording, nothing is
    removed and the finding is fatal. Rows must be ordered; device rows go with their launch.
    """
    if not length(device) or not length(host):
        return None
    cold = _cold_calls(names, host, device)
    launches = _launch_starts(host, device)
    left = len(launches) - np.searchsorted(launches, cold.end)
    early = cold.end[left >= max(LEAST_LEFT * len(launches), LEAST_LAUNCHES)]
    if not len(early):
        return _all_cold(cold, host, device)
    cut = int(early[-1])
    begin = int(min(host["start"][0], device["start"][0]))
    removed = host["start"] < cut
    gone = distinct(host["correlation"][removed & (host["correlation"] != NONE)])
    for table in (device, waits):
        take(table, ~(np.isin(table["correlation"], gone) | (table["start"] < cut)))
    take(host, ~removed)
    count = int(np.searchsorted(cold.end, cut, side="right"))
    return Quality(
        "warm-up-left-out",
        "info",
        int(removed.sum()),
        f"The first {ms(cut - begin):.0f} ms of the recording hold {counted(count, 'call')} that "
        "load code or make a context: no step of a long run, and left out.",
    )


def _all_cold(cold: _Cold, host: Table, device: Table) -> Quality | None:
    calls = host["kind"] == HostKind.CALL
    begin = min(int(host["start"][calls].min(initial=device["start"][0])), int(device["start"][0]))
    end = int((device["start"] + device["dur"]).max())
    if cold.total < GRAVE_COLD_SHARE * (end - begin):
        return None
    return Quality(
        "cold-start",
        "fatal",
        len(cold.end),
        f"{counted(len(cold.end), 'call')} took {ms(cold.total):.0f} of {ms(end - begin):.0f} ms "
        "to load code or make a context, and few launches follow: record a hundred warm steps, or "
        "mark them with torch.cuda.profiler.start() and --capture-range=cudaProfilerApi.",
    )


def _cold_calls(names: list[str], host: Table, device: Table) -> _Cold:
    is_wait = np.array([bool(_WAIT.search(name)) for name in names] or [False])
    long = (host["kind"] == HostKind.CALL) & (host["dur"] >= COLD_CALL_NS) & ~is_wait[host["name"]]
    start, end = host["start"][long], (host["start"] + host["dur"])[long]
    busy = union(device["start"], device["start"] + device["dur"]).within(start, end)
    idle = busy < IDLE_SHARE * (end - start)
    return _Cold(np.sort(end[idle]), int((end - start)[idle].sum()))


def _launch_starts(host: Table, device: Table) -> Array:
    """Starts of the calls that enqueued device work, in order."""
    is_launch = (host["kind"] == HostKind.CALL) & (host["correlation"] != NONE)
    is_launch &= np.isin(host["correlation"], device["correlation"])
    return np.asarray(host["start"][is_launch])
