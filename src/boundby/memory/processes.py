"""Readings of the memory of processes: by ``psutil`` where it is installed, else by ``/proc``."""

from __future__ import annotations

import importlib
import importlib.util
import os
import time
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

PROC = Path("/proc")
CGROUP = Path("/sys/fs/cgroup")
MOST_OWN = 2


@dataclass(frozen=True)
class Sample:
    """One reading of a process.

    Attributes:
        time: Seconds on a monotonic clock.
        resident: Bytes of RAM that the process uses.
        unique: Of these, bytes that it shares with nobody; None where the system does not say.
        is_worker: Whether it is a child of the process watched.
    """

    pid: int
    time: float
    resident: int
    unique: int | None
    is_worker: bool


@dataclass(frozen=True)
class HostMemory:
    """What the host has, bytes."""

    total: int
    available: int


@lru_cache(maxsize=1)
def psutil() -> Any:  # noqa: ANN401 -- the module
    """The module; None where it is not installed."""
    return importlib.import_module("psutil") if importlib.util.find_spec("psutil") else None


def is_known() -> bool:
    """Whether the memory of processes can be read here."""
    return psutil() is not None or (PROC / "self" / "statm").exists()


def host_memory() -> HostMemory | None:
    """Bytes of the host, or of the container that this process runs in; None where unknown."""
    if not is_known():
        return None
    if psutil() is not None:
        found = psutil().virtual_memory()
        whole = HostMemory(int(found.total), int(found.available))
    else:
        sizes = _table(PROC / "meminfo")
        if {"MemTotal", "MemAvailable"} - set(sizes):
            return None
        whole = HostMemory(sizes["MemTotal"] << 10, sizes["MemAvailable"] << 10)
    return limited(whole)


def limited(whole: HostMemory, group: Path = CGROUP) -> HostMemory:
    """The same where a control group allows less; what it could give back counts as available."""
    try:
        limit = int((group / "memory.max").read_text("ascii"))
        used = int((group / "memory.current").read_text("ascii"))
        used -= _table(group / "memory.stat").get("inactive_file", 0)
    except (OSError, ValueError):
        return whole
    if limit >= whole.total:
        return whole
    return HostMemory(limit, min(whole.available, max(limit - used, 0)))


def _table(file: Path) -> dict[str, int]:
    """Rows of a name and a number."""
    rows = (row.split() for row in file.read_text("ascii").splitlines())
    return {row[0].rstrip(":"): int(row[1]) for row in rows if len(row) > 1 and row[1].isdigit()}


def read_processes(pid: int, *, own_of: int = MOST_OWN) -> list[Sample]:
    """One reading of a process and each of its descendants; empty where there is none.

    Args:
        own_of: Of how many of the descendants, the oldest first, to read what they share with
            nobody: the system walks all pages for it, 10 to 30 ms for a process with torch.
    """
    if not is_known():
        return []
    children = descendants(pid)
    found = [read_process(pid, is_worker=False, own=False)]
    found += [
        read_process(child, is_worker=True, own=number < own_of)
        for number, child in enumerate(sorted(children))
    ]
    return [sample for sample in found if sample is not None]


def descendants(pid: int) -> list[int]:
    """Process ids of all children, and of theirs."""
    module = psutil()
    if module is not None:
        try:
            return [int(child.pid) for child in module.Process(pid).children(recursive=True)]
        except module.Error:
            return []
    found, todo = [], [pid]
    while todo:
        children = _children(todo.pop())
        found += children
        todo += children
    return found


def read_process(pid: int, *, is_worker: bool, own: bool = True) -> Sample | None:
    """One reading; None where the process is gone or not ours to read."""
    now = time.monotonic()
    module = psutil()
    try:
        if module is None:
            resident, unique = _resident(pid), _unique(pid) if own else None
        else:
            process = module.Process(pid)
            resident, unique = int(process.memory_info().rss), _uss(process) if own else None
    except (OSError, ValueError):
        return None
    except Exception as error:
        if module is not None and isinstance(error, module.Error):
            return None
        raise
    return Sample(pid, now, resident, unique, is_worker) if resident else None


def parents_of(pids: Iterable[int]) -> dict[int, int]:
    """The process id of the parent of each that is still there."""
    found = {}
    for pid in pids:
        try:
            found[pid] = _parent(pid)
        except (OSError, ValueError, IndexError):
            continue
        except Exception as error:
            if psutil() is None or not isinstance(error, psutil().Error):
                raise
    return found


def _parent(pid: int) -> int:
    if psutil() is not None:
        return int(psutil().Process(pid).ppid())
    text = (PROC / str(pid) / "stat").read_text("utf-8", "replace")
    return int(text.rpartition(")")[2].split()[1])  # the name before it may hold anything


def _uss(process: Any) -> int | None:  # noqa: ANN401 -- psutil's
    try:
        return int(process.memory_full_info().uss)
    except (AttributeError, psutil().Error):
        return None


def _children(pid: int) -> list[int]:
    found = []
    for file in (PROC / str(pid) / "task").glob("*/children"):
        try:
            found += [int(each) for each in file.read_text("ascii").split()]
        except OSError:
            continue
    return found


def _resident(pid: int) -> int:
    pages = (PROC / str(pid) / "statm").read_text("ascii").split()[1]
    return int(pages) * os.sysconf("SC_PAGE_SIZE")


def _unique(pid: int) -> int | None:
    try:
        text = (PROC / str(pid) / "smaps_rollup").read_text("ascii")
    except OSError:
        return None
    kib = [int(row.split()[1]) for row in text.splitlines() if row.startswith("Private_")]
    return sum(kib) << 10
