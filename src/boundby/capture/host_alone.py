"""A live run whose program uses no device: why no class is named, and what to type next."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from boundby.capture.findings import LiveRun
from boundby.read.recording import Quality, Recording
from boundby.verdict.next import NextCommand

CPU_ONLY = "cpu-only"
WHY = (
    "The program uses no GPU, so no class is named: a class says whether host or device holds up "
    "the step. What the host does follows."
)
LOADS = 0.1
"""Share of the step from which loading is worth a measurement of its own."""


def retold(recording: Recording, run: LiveRun) -> Recording:
    """The recording whose finding fits a program that was seen to use no device."""
    if run.uses_device:
        return recording
    quality = (
        replace(each, message=WHY) if each.id == CPU_ONLY else each for each in recording.quality
    )
    return replace(recording, quality=tuple(quality))


def next_commands(run: LiveRun, quality: Sequence[Quality]) -> Iterator[NextCommand]:
    """What can be asked of a program without a device.

    Args:
        quality: Findings about its recording: the fatal one tells whether a device was there.
    """
    share = run.loader.share if run.loader else None
    if share is not None and share >= LOADS:
        yield NextCommand(
            "boundby loader FILE::FUNCTION",
            f"the loader that FUNCTION makes, alone: it takes {share:.0%} of the step",
        )
    found = next((each.id for each in quality if each.severity == "fatal"), CPU_ONLY)
    yield NextCommand(f"boundby explain {found}", "what is known without a GPU at work")
