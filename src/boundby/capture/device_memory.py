"""The verdict on device memory of a run, from what its folder holds."""

from __future__ import annotations

from pathlib import Path

from boundby.capture.findings import LiveRun
from boundby.diagnosis import Diagnosis
from boundby.errors import BoundbyError
from boundby.memory.diagnose import MemoryDiagnosis, diagnose
from boundby.memory.message import TextDiagnosis, diagnose_text
from boundby.memory.pace import Pace
from boundby.memory.pointers import read_pointers
from boundby.read.capture_folder import POINTERS, SNAPSHOT
from boundby.read.memory_snapshot import read_snapshot
from boundby.read.oom_message import read_oom_messages

DeviceMemory = MemoryDiagnosis | TextDiagnosis


def pace_of(diagnosis: Diagnosis | None) -> Pace | None:
    """What bounds the step in time, where the run could tell."""
    if diagnosis is None or diagnosis.verdict.name == "undecided":
        return None
    return Pace(diagnosis.verdict.name, diagnosis.device.busy_share_unprofiled)


def score_sizes_of(diagnosis: Diagnosis | None) -> tuple[int, ...]:
    """Bytes of the score matrices that attention writes out; empty where the run cannot tell."""
    if diagnosis is None or diagnosis.roofline is None:
        return ()
    return tuple(size for waste in diagnosis.roofline.wastes for size in waste.score_sizes)


def read_device_memory(
    run: LiveRun, diagnosis: Diagnosis | None
) -> tuple[DeviceMemory | None, tuple[str, ...]]:
    """The verdict, and what went wrong on the way to it.

    By the snapshot where there is one that tells, else by torch's own message. None where the run
    has neither: then nothing is known of its memory but the figures at the ends of steps.

    Args:
        diagnosis: Of the same run in time; None where it has no trace.
    """
    pace = pace_of(diagnosis)
    known, problems = _by_snapshot(run, pace, score_sizes_of(diagnosis))
    if known is not None and known.verdict.name != "undecided":
        return known, problems
    message = _by_message(run.ending.message, pace)
    return (message if message and message.verdict.name != "undecided" else known), problems


def _by_snapshot(
    run: LiveRun, pace: Pace | None, score_sizes: tuple[int, ...]
) -> tuple[MemoryDiagnosis | None, tuple[str, ...]]:
    folder = Path(run.folder)
    file, side = folder / SNAPSHOT, folder / POINTERS
    if not file.is_file():
        return None, ()
    capacity = run.memory.capacity if run.memory else run.ending.capacity
    try:
        names = read_pointers(side) if side.is_file() else None
        snapshot = read_snapshot(file)
        found = diagnose(
            snapshot, capacity=capacity, names=names, pace=pace, score_sizes=score_sizes
        )
    except BoundbyError as error:
        return None, (f"the snapshot of the memory tells nothing: {error}",)
    return found, ()


def _by_message(text: str, pace: Pace | None) -> TextDiagnosis | None:
    messages = read_oom_messages(text)
    return diagnose_text(messages, text, pace) if messages else None
