"""Device work of a Program, measured off the timeline: durations, latencies, dependencies."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from boundby.intervals import Ints, union
from boundby.read.recording import NONE
from boundby.replay.dependencies import Spans, find_dependencies
from boundby.replay.program import Work
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


def build_work(timeline: Timeline, reference: Ints) -> Work:
    """Work items of the launches inside steps.

    Args:
        reference: int64[len(launches)] ns, the host time at which each launch takes effect.
    """
    rows = timeline.rows[timeline.row_step != NONE]
    launch_of_row = timeline.launches.of_row[rows]
    kept = np.flatnonzero(timeline.launch_step != NONE)
    item_of_row = np.searchsorted(kept, launch_of_row)
    start, end, busy = _extents(timeline, rows, item_of_row, len(kept))
    first = timeline.launches.first_row[kept]
    stream = _dense(timeline.recording.device.stream[first])
    latency, lead, late = _delays(stream, start, end, reference[kept])
    return Work(
        stream=stream,
        dur=end - start,
        busy=busy,
        latency=latency,
        lead=lead,
        after=find_dependencies(timeline, kept, stream, Spans(start, end, late)),
        nodes=np.bincount(item_of_row, minlength=len(kept)).astype(np.int64),
        launch=kept,
    )


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
    for shared in np.flatnonzero(np.bincount(item, minlength=count) > 1):
        mine = rows[item == shared]
        busy[shared] = union(work.start[mine], work.end[mine]).total
    return start, end, busy


def _delays(
    stream: Ints, start: Ints, end: Ints, reference: Ints
) -> tuple[Ints, Ints, npt.NDArray[np.bool_]]:
    """Latency and lead of each item, and which started later than both explain.

    On an idle stream the latency is observed; on a busy one the lead is. The other of the two
    takes the median of the recording.
    """
    order = np.argsort(start, kind="stable")
    before = np.empty(len(start), dtype=np.int64)
    before[order] = previous_end(stream[order], start[order], end[order])
    queued = before > reference
    latency, lead = start - reference, start - np.maximum(before, 0)
    usual_latency = _median(latency[~queued & (latency < UNEXPLAINED)], DEFAULT_LATENCY)
    usual_lead = _median(lead[queued & (lead < UNEXPLAINED)], DEFAULT_LEAD)
    late = np.where(queued, lead > UNEXPLAINED, latency > UNEXPLAINED)
    return (
        np.where(queued, usual_latency, latency),
        np.maximum(np.where(queued, lead, usual_lead), 0),
        late,
    )


def _median(values: Ints, default: int) -> int:
    return int(np.median(values)) if len(values) else default
