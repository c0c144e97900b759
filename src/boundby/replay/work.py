"""Device work of a Program, measured off the timeline: durations, latencies, dependencies."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from boundby.intervals import Ints, union
from boundby.read.recording import NONE
from boundby.replay.dependencies import Spans, find_dependencies
from boundby.replay.program import NOTHING, Work
from boundby.timeline.queue import previous_end
from boundby.timeline.timeline import Timeline
from boundby.units import NS_PER_US

DEFAULT_LATENCY = 5 * NS_PER_US
"""Launch call end to kernel start on an idle stream, where the recording shows none (H200, torch
2.11: 1-6 us by driver and load)."""
DEFAULT_LEAD = 800
"""Idle ns between back-to-back kernels of one stream where the recording shows none (H200:
0.5-1.3 us between dependent kernels of an eager stream)."""
UNEXPLAINED = 20 * NS_PER_US
"""A queued item that starts this much later than its stream allows waited for another stream."""


def build_work(
    timeline: Timeline, reference: Ints, blocking: npt.NDArray[np.bool_]
) -> tuple[Work, Ints]:
    """Work items of the launches inside steps, and how much earlier each can start than it did.

    What held up a copy that holds the host (staging, or work that was not recorded) is time the
    host waits, not time the device needs: such a copy starts early here, int64[m] ns.

    Args:
        reference: int64[len(launches)] ns, the host time at which each launch takes effect.
        blocking: bool[len(launches)] copies that hold the host.
    """
    rows = timeline.rows[timeline.row_step != NONE]
    launch_of_row = timeline.launches.of_row[rows]
    kept = np.flatnonzero(timeline.launch_step != NONE)
    item_of_row = np.searchsorted(kept, launch_of_row)
    start, end, busy = _extents(timeline, rows, item_of_row, len(kept))
    first = timeline.launches.first_row[kept]
    stream = _dense(timeline.recording.device.stream[first])
    queue = _Queue(stream, start, end, reference[kept], blocking[kept])
    after = find_dependencies(timeline, kept, stream, Spans(start, end, queue.late))
    latency, lead, early = queue.delays(after != NOTHING)
    work = Work(
        stream=stream,
        dur=end - start,
        busy=busy,
        latency=latency,
        lead=lead,
        after=after,
        nodes=np.bincount(item_of_row, minlength=len(kept)).astype(np.int64),
        launch=kept,
    )
    return work, early


def _dense(values: Ints) -> Ints:
    return np.unique(values, return_inverse=True)[1].astype(np.int64).reshape(-1)


def _extents(timeline: Timeline, rows: Ints, item: Ints, count: int) -> tuple[Ints, Ints, Ints]:
    """First start, last end and union busy time of each item."""
    work = timeline.recording.device
    start = np.full(count, np.iinfo(np.int64).max)
    end = np.full(count, np.iinfo(np.int64).min)
    np.minimum.at(start, item, work.start[rows])
    np.maximum.at(end, item, work.end[rows])
    busy = end - start
    order = rows[np.argsort(item, kind="stable")]
    first, last = work.start[order], work.end[order]
    upto = np.concatenate(([0], np.cumsum(np.bincount(item, minlength=count))))
    for shared in np.flatnonzero(np.diff(upto) > 1).tolist():
        mine = slice(upto[shared], upto[shared + 1])
        busy[shared] = union(first[mine], last[mine]).total
    return start, end, busy


class _Queue:
    """What each item found when it was launched: an idle stream or a busy one."""

    def __init__(
        self, stream: Ints, start: Ints, end: Ints, reference: Ints, blocking: npt.NDArray[np.bool_]
    ) -> None:
        order = np.argsort(start, kind="stable")
        before = np.empty(len(start), dtype=np.int64)
        before[order] = previous_end(stream[order], start[order], end[order])
        self.blocking = blocking
        self.queued = before > reference
        self.latency, self.lead = start - reference, start - np.maximum(before, 0)
        self.waited = np.where(self.queued, self.lead, self.latency)

    @property
    def late(self) -> npt.NDArray[np.bool_]:
        """Items that started later than their stream and their launch explain."""
        return (self.waited > UNEXPLAINED) & ~self.blocking

    def delays(self, depends: npt.NDArray[np.bool_]) -> tuple[Ints, Ints, Ints]:
        """Latency and lead of each item, and by how much a copy that holds the host starts early.

        On an idle stream the latency is observed, on a busy one the lead; the other takes the
        median of the recording. What an item waited for on another stream is neither.
        """
        queued, latency, lead = self.queued, self.latency, self.lead
        usual_latency = _median(latency[~queued & (latency < UNEXPLAINED)], DEFAULT_LATENCY)
        usual_lead = _median(lead[queued & (lead < UNEXPLAINED)], DEFAULT_LEAD)
        usual = np.where(queued, usual_lead, usual_latency)
        excess = np.maximum(self.waited - usual, 0)
        early = np.where(self.blocking, excess, 0)
        taken = np.where(depends, excess, early)
        return (
            np.where(queued, usual_latency, latency - taken),
            np.maximum(np.where(queued, lead - taken, usual_lead), 0),
            early,
        )


def _median(values: Ints, default: int) -> int:
    return int(np.median(values)) if len(values) else default
