"""Memory of the host while a program runs, read from outside: it costs the program nothing."""

from __future__ import annotations

import json
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from boundby.memory.processes import HostMemory, host_memory, parents_of, read_processes
from boundby.read.capture_folder import HOST

FIRST_S = 0.25
DOUBLE_EVERY = 48
"""Readings after which the time between two doubles: hours are no longer a file than minutes."""
MOST_S = 60.0
SHARE = 0.05
"""Of its time, at most, that is spent reading: of a large process all pages are walked, on a core
of their own, while the program runs on."""


class HostWatch:
    """Reads a process and its descendants from time to time."""

    def __init__(self, process: int) -> None:
        self._process = process
        self._rows: list[tuple[float, int, int, int | None]] = []
        self._parents: dict[int, int] = {}
        self._host: HostMemory | None = None
        self._looks = 0
        self._due = time.monotonic()

    def wait_s(self) -> float:
        """Seconds until the next reading, at most one."""
        return min(max(self._due - time.monotonic(), 0.0), 1.0)

    def look(self) -> None:
        """Read, if it is time."""
        begin = time.monotonic()
        if begin < self._due:
            return
        seen = read_processes(self._process)
        self._rows += [(each.time, each.pid, each.resident, each.unique) for each in seen]
        unknown = [each.pid for each in seen if each.pid not in self._parents]
        self._parents |= parents_of(unknown)
        self._host = _least(self._host, host_memory())
        self._looks += 1
        every = FIRST_S * 2.0 ** (self._looks // DOUBLE_EVERY)
        now = time.monotonic()
        self._due = now + max(min(every, MOST_S), (now - begin) / SHARE)

    def write(self, folder: Path) -> None:
        """Put the readings beside the recordings, if there are any."""
        if not self._rows or not folder.is_dir():
            return
        content: dict[str, Any] = {
            "total": self._host.total if self._host else None,
            "available_least": self._host.available if self._host else None,
            "parents": self._parents,
            "samples": self._rows,
        }
        try:
            (folder / HOST).write_text(json.dumps(content), "utf-8")
        except OSError:  # a full disk: the program has ended, and its exit code counts
            with suppress(OSError):
                (folder / HOST).unlink(missing_ok=True)


def _least(before: HostMemory | None, now: HostMemory | None) -> HostMemory | None:
    if before is None or now is None:
        return before or now
    return HostMemory(now.total, min(before.available, now.available))
