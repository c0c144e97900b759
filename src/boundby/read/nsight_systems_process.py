"""Which process of an export speaks for it: the one that kept its devices busiest.

Ids are serialized: the low 24 bits of a ``globalTid`` are the thread, the next 24 the process, the
rest the machine; a ``globalPid`` has zeros in place of the thread. Correlation ids are unique in
one process only, so nothing is joined before the process is chosen.
"""

from __future__ import annotations

from collections import defaultdict

from boundby.frozen import frozen
from boundby.read.nsight_systems_file import Condition, Export
from boundby.read.recording import NONE, Quality

ID_BITS = 24
ID_SPAN = 1 << ID_BITS
DEVICE_TABLES = tuple(
    f"CUPTI_ACTIVITY_KIND_{kind}" for kind in ("KERNEL", "GRAPH_TRACE", "MEMCPY", "MEMSET")
)
CALL_TABLES = ("CUPTI_ACTIVITY_KIND_RUNTIME", "CUPTI_ACTIVITY_KIND_DRIVER")
MAX_NAMED = 6

Work = dict[tuple[int, int], int]
"""Summed nanoseconds of device work by process (``globalPid``) and device."""


@frozen
class Process:
    """The process that was chosen.

    Attributes:
        key: Its ``globalPid``; NONE where the file does not tell processes apart.
        is_only: Whether no other process of the file used CUDA, so no row need be left out.
    """

    key: int
    is_only: bool

    @property
    def pid(self) -> int:
        """The process id as the system knows it."""
        return NONE if self.key == NONE else process_id(self.key)

    def of_device_rows(self) -> tuple[Condition, ...]:
        """Device rows of this process."""
        return () if self.is_only else (Condition("globalPid = ?", (self.key,)),)

    def of_host_rows(self) -> tuple[Condition, ...]:
        """Host rows of this process."""
        if self.key == NONE:
            return ()
        return (Condition(f"globalTid / {ID_SPAN} = ?", (self.key // ID_SPAN,)),)


def process_id(key: int) -> int:
    """The process id in a ``globalPid`` or ``globalTid``."""
    return (key >> ID_BITS) % ID_SPAN


def device_work(export: Export) -> Work:
    """Device work of the file, by process and device."""
    work: Work = defaultdict(int)
    for table in DEVICE_TABLES:
        for key, device, time in export.work(table):
            work[key, device] += max(time, 0)
    return dict(work)


def choose_process(export: Export, work: Work) -> Process | None:
    """The process with most device work, else with most calls; None without any."""
    busy: dict[int, int] = defaultdict(int)
    for (key, _), time in work.items():
        busy[key] += time
    calls = busy or _calls(export)
    if not calls:
        return None
    chosen = max(calls, key=lambda key: (calls[key], -key))
    return Process(chosen, is_only=len(calls) == 1)


def _calls(export: Export) -> dict[int, int]:
    """Calls by process."""
    found: dict[int, int] = defaultdict(int)
    for table in CALL_TABLES:
        for row in export.rows(table, "globalTid"):
            if isinstance(row[0], int):
                found[row[0] // ID_SPAN * ID_SPAN] += 1
    return dict(found)


def other_processes(work: Work, chosen: Process) -> Quality | None:
    """What the file holds beside the busiest device of the chosen process."""
    mine = {device: time for (key, device), time in work.items() if key == chosen.key}
    if not mine or len(work) == 1:
        return None
    device = max(mine, key=lambda each: mine[each])
    others = sorted(
        (pair for pair in work if pair != (chosen.key, device)), key=lambda pair: -work[pair]
    )
    most = max(mine[device], 1)
    named = ", ".join(
        f"process {process_id(key)} on device {number} ({work[key, number] / most:.0%} as busy)"
        for key, number in others[:MAX_NAMED]
    )
    more = ", ..." if len(others) > MAX_NAMED else ""
    return Quality(
        "other-processes",
        "info",
        len(others),
        f"Several processes or devices were recorded: process {chosen.pid} on device {device}, the "
        f"busiest, was taken; beside it {named}{more}.",
    )
