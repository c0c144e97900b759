"""Read this first: a snapshot in, what is the matter with the memory out."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

from boundby.errors import CannotTellError
from boundby.memory.advise import advise
from boundby.memory.case import Case, gather
from boundby.memory.decide import decide
from boundby.memory.evidence import facts
from boundby.memory.facts import Fact
from boundby.memory.history import History
from boundby.memory.pace import Pace
from boundby.memory.pictures import SegmentMap, Timeline, segment_map, timeline
from boundby.memory.remedies import Remedy
from boundby.memory.verdicts import Verdict
from boundby.read.recording import Quality, Source
from boundby.read.snapshot_types import Snapshot

FEW_UNREADABLE = 0.01
"""Share of the entries of a snapshot that may be left out without a word about the verdict."""


@dataclass(frozen=True)
class DeviceSummary:
    """One device of the file.

    Attributes:
        peak, reserved: Bytes in use and reserved at most.
        refusals: Requests that could not be served.
    """

    id: int
    peak: int
    reserved: int
    refusals: int
    events: int


@dataclass(frozen=True)
class MemoryDiagnosis:
    """The answer about one device of a snapshot, and a line about each other one."""

    source: Source
    quality: tuple[Quality, ...]
    device: int
    devices: tuple[DeviceSummary, ...]
    verdict: Verdict
    case: Case
    evidence: tuple[Fact, ...]
    prescriptions: tuple[Remedy, ...]
    timeline: Timeline
    segments: SegmentMap
    pace: Pace | None = None


def diagnose(
    snapshot: Snapshot,
    *,
    device: int | None = None,
    capacity: int | None = None,
    names: Mapping[int, Mapping[int, str]] | None = None,
    pace: Pace | None = None,
    score_sizes: Collection[int] = (),
) -> MemoryDiagnosis:
    """What is the matter with one device of a snapshot.

    Args:
        device: Which; by default the one whose request failed, else the one with most in use.
        capacity: Bytes of the device where known.
        names: Part by address by device, written while the program ran.
        pace: What bounds the step in time, where known: advice depends on it.
        score_sizes: Bytes of the score matrices that attention writes out, where a trace with
            shapes tells: blocks of such a size are scores, whatever their functions are called.

    Raises:
        CannotTellError: The snapshot holds no memory of that device.
    """
    histories = {each: History(snapshot, each) for each in snapshot.devices}
    summaries = tuple(map(_summary, histories.values()))
    chosen = _choose(summaries, device, snapshot.source.path)
    known = (names or {}).get(chosen)
    case = gather(
        snapshot, histories[chosen], capacity=capacity, names=known, score_sizes=score_sizes
    )
    verdict = _held_back(decide(case), snapshot)
    return MemoryDiagnosis(
        source=snapshot.source,
        quality=(*snapshot.quality, *_quality(case)),
        device=chosen,
        devices=summaries,
        verdict=verdict,
        case=case,
        evidence=facts(case),
        prescriptions=advise(case, verdict, pace),
        timeline=timeline(case.history, parts=case.parts),
        segments=segment_map(case.history, case.moment),
        pace=pace,
    )


def _held_back(verdict: Verdict, snapshot: Snapshot) -> Verdict:
    """A verdict on a snapshot with much of it unreadable is weak at best."""
    left = sum(each.count for each in snapshot.quality if each.id == "unreadable-entries")
    read = sum(map(len, snapshot.histories.values())) + len(snapshot.blocks)
    if verdict.strength is None or left <= FEW_UNREADABLE * (left + read):
        return verdict
    return replace(verdict, strength="weak")


def _summary(history: History) -> DeviceSummary:
    return DeviceSummary(
        history.device,
        int(history.live_curve.max()),
        int(history.reserved_curve.max()),
        len(history.refusals),
        len(history.events),
    )


def _choose(summaries: tuple[DeviceSummary, ...], wanted: int | None, path: str) -> int:
    if not summaries:
        raise CannotTellError(
            f"{path} holds no memory of any device",
            "call torch.cuda.memory._record_memory_history() before the program allocates",
        )
    ids = [each.id for each in summaries]
    if wanted is None:
        return max(summaries, key=lambda each: (each.refusals > 0, each.peak)).id
    if wanted not in ids:
        raise CannotTellError(
            f"{path} holds no memory of device {wanted}",
            f"it has {', '.join(map(str, ids))}: --device {ids[0]}",
        )
    return wanted


def _quality(case: Case) -> tuple[Quality, ...]:
    """What weakens the answer: a history that starts late, or without stacks."""
    history = case.history
    found = []
    before = history.live_at(-1)
    if before > 0 and len(history.events):
        found.append(
            Quality(
                "memory-starts-late",
                "info",
                int((history.spans.birth < 0).sum()),
                "Some memory was in use before the history begins; what made it is known only "
                "where it is still there.",
            )
        )
    if len(history.events) and not (history.events.stack >= 0).any():
        found.append(
            Quality(
                "memory-no-stacks",
                "warning",
                len(history.events),
                "The history holds no stacks: no line can be named. Record with stacks='all'.",
            )
        )
    if history.live_curve.max() > history.reserved_curve.max():
        found.append(
            Quality(
                "memory-segments-missing",
                "warning",
                1,
                "More is in use than is reserved: the file lacks segments, and what is said about "
                "reserved memory is too low.",
            )
        )
    if history.contradictions:
        found.append(
            Quality(
                "memory-contradictions",
                "warning",
                history.contradictions,
                "Some entries contradict others: a free without an allocation, or two in a row.",
            )
        )
    return tuple(found)
