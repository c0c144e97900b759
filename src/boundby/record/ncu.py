"""Nsight Compute around a command: which flags, and where its table goes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from boundby.errors import BoundbyError
from boundby.record.tools import Tool, run_around

NCU = Tool(
    "ncu",
    "Nsight Compute",
    "nsight-compute",
    "https://developer.nvidia.com/nsight-compute",
)
SECTIONS = (
    "SpeedOfLight",
    "ComputeWorkloadAnalysis",
    "MemoryWorkloadAnalysis",
    "MemoryWorkloadAnalysis_Tables",
    "LaunchStats",
    "Occupancy",
    "SchedulerStats",
    "WarpStateStats",
    "SourceCounters",
)
"""All that ``boundby kernel`` reads; ``--set full`` would replay each kernel twice as often."""


@dataclass(frozen=True)
class Choice:
    """Which kernels are measured.

    Attributes:
        pattern: Regular expression that the name of a kernel must hold.
        skip: Launches of such kernels to leave out first.
        count: Launches to measure.
    """

    pattern: str
    skip: int = 0
    count: int = 20


def measure(command: Sequence[str], target: Path, choice: Choice, folder: Path) -> int | None:
    """Measure kernels of a command with ncu into ``target`` (CSV); the command's exit code.

    Args:
        command: The user's command.
        target: The table; overwritten.
        choice: Which kernels.
        folder: For files in between.

    Raises:
        MissingToolError: There is no ncu.
        BoundbyError: It wrote nothing.
    """
    ncu = NCU.find()
    ended = run_around([ncu, *options(target, choice)], command, folder)
    if not target.exists():
        raise BoundbyError(
            f"ncu wrote nothing (it ended with {ended.tool_code})", "see its messages above"
        )
    return ended.script_code


def options(target: Path, choice: Choice) -> Iterator[str]:
    """Options of ncu: clocks as they are, plain units, kernels of child processes too."""
    yield from ("--csv", "--page", "raw", "--print-units", "base", "--log-file", str(target))
    yield from ("--clock-control", "none", "--target-processes", "all", "--force-overwrite")
    yield from ("--kernel-name", f"regex:{choice.pattern}")
    yield from ("--launch-count", str(choice.count))
    if choice.skip:
        yield from ("--launch-skip", str(choice.skip))
    for section in SECTIONS:
        yield from ("--section", section)
