"""Which work of one stream waits for work of another.

Three sources, best first: waits that the recording states with their streams (``cuda_sync`` rows),
``StreamWaitEvent`` calls whose streams follow from the launches around them, and for the rest what
was observed: an item that starts late, right after one on another stream ends.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from boundby.intervals import Ints
from boundby.read.recording import NONE, HostKind
from boundby.replay.program import NOTHING
from boundby.timeline.calls import CallKind
from boundby.timeline.timeline import Timeline
from boundby.units import NS_PER_US

HANDOVER = 25 * NS_PER_US
"""Longest time between the end of the awaited work and the start of the waiting one."""
TOLERANCE = 2 * NS_PER_US
"""How far awaited work may seem to end after the waiting one starts, by the device clock."""


@dataclass(frozen=True)
class Spans:
    """When each item ran, and whether it started later than its stream and launch explain.

    Attributes:
        start, end: int64[m] ns.
        late: bool[m].
    """

    start: Ints
    end: Ints
    late: npt.NDArray[np.bool_]


def find_dependencies(timeline: Timeline, launch: Ints, stream: Ints, spans: Spans) -> Ints:
    """int64[m]: the item of another stream each item waits for, NOTHING where none.

    Args:
        launch: int64[m] index into ``Timeline.launches``, in host order.
        stream: int64[m] dense stream number.
    """
    after = np.full(len(stream), NOTHING, dtype=np.int64)
    if (stream == stream[:1]).all():
        return after
    submitted = timeline.launches.start[launch]
    raw = timeline.recording.device.stream[timeline.launches.first_row[launch]]
    for call, waiting, awaited in _stated(timeline) or _called(timeline):
        position = int(np.searchsorted(submitted, call))
        _bind(after, position, raw, spans, waiting, awaited)
    _observed(after, stream, spans)
    return after


def _stated(timeline: Timeline) -> list[tuple[int, int, int]]:
    """Time of the call, waiting stream and awaited stream of each recorded wait between streams."""
    waits, names = timeline.recording.waits, timeline.recording.names
    between = [
        (int(waits.start[row]), int(waits.stream[row]), int(waits.on_stream[row]))
        for row in range(len(waits))
        if "Wait Event" in names[waits.name[row]]
    ]
    return [wait for wait in between if NONE not in wait[1:] and wait[1] != wait[2]]


def _called(timeline: Timeline) -> list[tuple[int, int, int]]:
    """``StreamWaitEvent`` calls, their streams not stated."""
    host = timeline.recording.host
    kind = np.where(host.kind == HostKind.CALL, timeline.calls[host.name], CallKind.OTHER)
    return [
        (int(host.start[row]), NONE, NONE) for row in np.flatnonzero(kind == CallKind.STREAM_WAIT)
    ]


def _bind(after: Ints, position: int, raw: Ints, spans: Spans, waiting: int, awaited: int) -> None:
    """The next item on the waiting stream waits for the last one before it on the awaited stream.

    Without stated streams, the waiting stream is the one of the next launch, the awaited one any
    other. A dependency that the recording contradicts is none.
    """
    later = raw[position:]
    found = np.flatnonzero(later == waiting) if waiting != NONE else np.arange(len(later))[:1]
    if not len(found):
        return
    item = position + int(found[0])
    before = raw[:position]
    others = before == awaited if awaited != NONE else before != raw[item]
    candidates = np.flatnonzero(others)
    if len(candidates) and spans.end[candidates[-1]] <= spans.start[item] + TOLERANCE:
        after[item] = max(int(after[item]), int(candidates[-1]))


def _observed(after: Ints, stream: Ints, spans: Spans) -> None:
    """For each other late item the work of another stream that ended right before it started."""
    by_end = np.argsort(spans.end, kind="stable")
    ends = spans.end[by_end]
    for item in np.flatnonzero(spans.late & (after == NOTHING)):
        position = int(np.searchsorted(ends, spans.start[item], side="right")) - 1
        while position >= 0 and spans.start[item] - ends[position] <= HANDOVER:
            other = int(by_end[position])
            if stream[other] != stream[item] and other < item:
                after[item] = other
                break
            position -= 1
