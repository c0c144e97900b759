"""Which work of one stream waits for work of another.

Three sources, best first: waits that the recording states with their streams (``cuda_sync`` rows),
``StreamWaitEvent`` calls whose streams follow from the launches around them, and for the rest what
was observed: an item that starts late, right after one on another stream ends.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from boundby.distribution import distinct
from boundby.frozen import frozen
from boundby.intervals import EMPTY, Ints
from boundby.read.recording import NONE, HostKind
from boundby.replay.program import NOTHING
from boundby.timeline.calls import CallKind
from boundby.timeline.timeline import Timeline
from boundby.units import NS_PER_US

HANDOVER = 25 * NS_PER_US
"""Longest time between the end of the awaited work and the start of the waiting one."""
TOLERANCE = 2 * NS_PER_US
"""How far awaited work may seem to end after the waiting one starts, by the device clock."""


@frozen
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
    raw = timeline.recording.device.stream[timeline.launches.first_row[launch]]
    order = _Order(timeline.launches.start[launch], raw)
    for call, waiting, awaited in _stated(timeline) or _called(timeline):
        item, other = order.pair(call, waiting, awaited)
        is_seen = other != NOTHING and spans.end[other] <= spans.start[item] + TOLERANCE
        if is_seen:
            after[item] = max(int(after[item]), other)
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


class _Order:
    """Items in the order of their launches, and by stream."""

    def __init__(self, submitted: Ints, stream: Ints) -> None:
        self.submitted = submitted
        self.stream = stream
        self.of_stream = {s: np.flatnonzero(stream == s) for s in distinct(stream).tolist()}
        changes = np.concatenate(([True], stream[1:] != stream[:-1]))
        self.run_start = np.maximum.accumulate(np.where(changes, np.arange(len(stream)), 0))

    def pair(self, call: int, waiting: int, awaited: int) -> tuple[int, int]:
        """The item that waits because of a call at this time, and the item it waits for.

        The next item on the waiting stream waits for the last one before the call on the awaited
        stream. Without stated streams, the waiting stream is the one of the next launch, the
        awaited one any other. NOTHING where there is no such item.
        """
        position = int(np.searchsorted(self.submitted, call))
        if waiting == NONE:
            item = position if position < len(self.stream) else NOTHING
            return item, self._last_on_other_stream(item)
        later = self.of_stream.get(waiting, EMPTY)
        earlier = self.of_stream.get(awaited, EMPTY)
        after, before = np.searchsorted(later, position), np.searchsorted(earlier, position)
        if after == len(later) or not before:
            return NOTHING, NOTHING
        return int(later[after]), int(earlier[before - 1])

    def _last_on_other_stream(self, item: int) -> int:
        if item <= 0:
            return NOTHING
        before = item - 1
        if self.stream[before] != self.stream[item]:
            return before
        return int(self.run_start[before]) - 1


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
