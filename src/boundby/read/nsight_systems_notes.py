"""What reading an export left out or could not know, as findings for the user."""

from __future__ import annotations

import numpy as np

from boundby.intervals import union
from boundby.read.columns import Table
from boundby.read.nsight_systems_host import OS_WAIT_PREFIX
from boundby.read.recording import HostKind, Quality
from boundby.read.wording import counted
from boundby.units import ms

KNOWN_MAJOR = 3
TOLD_WAIT_SHARE = 0.1
"""Waits of the operating system below a tenth of the recording change no verdict."""


def newer_schema(version: str) -> Quality | None:
    """A schema of a later generation than the reader was written for."""
    major = version.partition(".")[0]
    if not major.isdigit() or int(major) <= KNOWN_MAJOR:
        return None
    message = f"The export has schema {version}, newer than this reader knows: parts may be missed."
    return Quality("newer-schema", "warning", 1, message)


def whole_graphs(graphs: int) -> Quality | None:
    """Graph launches of which only the whole was recorded."""
    if not graphs:
        return None
    return Quality(
        "graphs-as-one",
        "info",
        graphs,
        f"{counted(graphs, 'graph launch')} recorded as one row each, so the kernels inside are "
        "not known: nsys profile --cuda-graph-trace=node records them.",
    )


def open_ranges(count: int) -> Quality | None:
    """Ranges without an end."""
    if not count:
        return None
    message = f"{counted(count, 'NVTX range')} never ended in the recording: left out."
    return Quality("open-ranges", "info", count, message)


def os_waits(names: list[str], host: Table, main: int) -> Quality | None:
    """Time in which the main thread waited for another process, a file or a timer."""
    is_wait = np.array([name.startswith(OS_WAIT_PREFIX) for name in names] or [False])
    calls = host["kind"] == HostKind.CALL
    rows = is_wait[host["name"]] & (host["thread"] == main)
    if not rows.any() or not calls.any():
        return None
    start, end = host["start"], host["start"] + host["dur"]
    first, last = start[calls].min(), end[calls].max()
    waited = int(union(start[rows], end[rows]).within(np.array([first]), np.array([last]))[0])
    if waited <= TOLD_WAIT_SHARE * (last - first):
        return None
    return Quality(
        "os-waits",
        "info",
        int(rows.sum()),
        f"The main thread waited {ms(waited):.0f} of {ms(last - first):.0f} ms in poll, read, "
        "sem_wait or sleep outside of CUDA: for loader workers, files or a timer. Ranges around "
        "the loader would tell which.",
    )
