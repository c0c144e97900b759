"""Both timelines of a typical step (or of everything) as plain columns, ready to be drawn.

The host line by kind, the operators, calls and user's frames below it, the device by stream, its
idle intervals with their owners, and how deep the queue between them is.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from boundby.distribution import distinct
from boundby.evidence.facts import Place
from boundby.evidence.gaps import Gaps, find_gaps
from boundby.evidence.lane_rows import HostRows, WorkRows, host_rows, work_rows
from boundby.frozen import frozen
from boundby.intervals import EMPTY, Intervals, Ints, subtract
from boundby.read.recording import NONE, Signature
from boundby.timeline.hostline import LineKind
from boundby.timeline.measure import observed_window
from boundby.timeline.queue import depth_at
from boundby.timeline.timeline import Timeline

Extent = Literal["typical", "all"]
MOST_ROWS: dict[Extent, int] = {"typical": 50_000, "all": 1_000_000}
"""Rows that are drawn: what a browser moves smoothly, and what a trace viewer opens."""
MOST_DEPTHS: dict[Extent, int] = {"typical": 2_000, "all": 200_000}
"""Points of the queue's depth that are kept, each the deepest of its stretch."""
FEWEST_STEPS = 3
"""From so many steps on the first is not taken as typical: it starts with an empty queue."""


@frozen
class Segments:
    """Stretches of the logical host line; ``kind`` is int8 LineKind, times int64 ns, rising."""

    start: Ints
    end: Ints
    kind: Ints


@frozen
class Depths:
    """Launches submitted and not finished; ``depth`` holds from ``time`` (ns) to the next."""

    time: Ints
    depth: Ints


@frozen
class Lanes:
    """Both timelines of a window.

    Attributes:
        step: Index of the step; None where all steps are drawn.
        start, end: ns; times of all rows lie inside or reach over.
        whole_end: ns where the window ends that was asked for; later than ``end`` where it holds
            more rows than can be drawn.
        steps: Start and end of each step, ns.
        names, threads, signatures, places: What the columns index.
        left_out: Rows that were not kept, in ``[end, whole_end)`` or nested too deep.
    """

    step: int | None
    start: int
    end: int
    whole_end: int
    steps: Intervals
    line: Segments
    host: HostRows
    work: WorkRows
    gaps: Gaps
    queue: Depths
    names: list[str]
    threads: list[str]
    signatures: list[Signature]
    places: tuple[Place, ...]
    left_out: int


def draw_lanes(timeline: Timeline, extent: Extent = "typical") -> Lanes:
    """The lanes of one recording."""
    step = typical_step(timeline) if extent == "typical" else None
    start, whole_end = _window(timeline, step)
    end, late = _reach(timeline, start, whole_end, MOST_ROWS[extent])
    host, places, deep = host_rows(timeline, start, end)
    return Lanes(
        step=step,
        start=start,
        end=end,
        whole_end=whole_end,
        steps=Intervals(timeline.steps.start, timeline.steps.end),
        line=_line(timeline, start, end),
        host=host,
        work=work_rows(timeline, host, (start, end), step),
        gaps=find_gaps(timeline, start, end),
        queue=_depths(timeline, start, end, MOST_DEPTHS[extent]),
        names=timeline.recording.names,
        threads=[_thread(timeline, index) for index in range(len(timeline.recording.threads))],
        signatures=timeline.recording.signatures,
        places=places,
        left_out=late + deep,
    )


def typical_step(timeline: Timeline) -> int:
    """The step whose span, host range and device work together, is nearest the median."""
    steps = timeline.steps
    end = _done(timeline)
    length = end - steps.start
    first = 1 if len(steps) >= FEWEST_STEPS else 0
    has_work = np.bincount(timeline.row_step[timeline.row_step != NONE], minlength=len(steps)) > 0
    chosen = np.flatnonzero(has_work & (np.arange(len(steps)) >= first))
    if not len(chosen):
        chosen = np.arange(first, len(steps))
    off = np.abs(length[chosen] - np.median(length[chosen]))
    return int(chosen[np.argmin(off)])


def _done(timeline: Timeline) -> Ints:
    """When host range and device work of each step are over, ns."""
    done = timeline.steps.end.copy()
    inside = timeline.row_step != NONE
    ends = timeline.recording.device.end[timeline.rows[inside]]
    np.maximum.at(done, timeline.row_step[inside], ends)
    return done


def _window(timeline: Timeline, step: int | None) -> tuple[int, int]:
    if step is None:
        first, last = observed_window(timeline)
        spans = [each for each in (timeline.recording.host, timeline.recording.device) if len(each)]
        starts = [int(each.start[0]) for each in spans]
        ends = [int(each.end.max()) for each in spans]
        return min([first, *starts]), max([last, *ends])
    return int(timeline.steps.start[step]), int(_done(timeline)[step])


def _reach(timeline: Timeline, start: int, end: int, most: int) -> tuple[int, int]:
    """Where to end so that no more rows than ``most`` are drawn, and how many are left out."""
    host, device = timeline.recording.host, timeline.recording.device
    mine = np.isin(host.thread, timeline.line.threads)
    starts = np.concatenate((host.start[mine], device.start[timeline.rows]))
    starts = np.sort(starts[(starts >= start) & (starts < end)])
    if len(starts) <= most:
        return end, 0
    return max(int(starts[most]), start + 1), len(starts) - most


def _line(timeline: Timeline, start: int, end: int) -> Segments:
    """The host line cut into stretches of one kind each."""
    window = Intervals(np.array([start]), np.array([end]))
    before, found = Intervals(EMPTY, EMPTY), []
    for kind, covered in enumerate((*timeline.line.covered, window)):
        own = subtract(covered, before)
        inside = (own.end > start) & (own.start < end)
        begin, finish = np.maximum(own.start[inside], start), np.minimum(own.end[inside], end)
        found.append((begin, finish, np.full(len(begin), kind, dtype=np.int64)))
        before = covered
    begin, finish, kinds = (np.concatenate(column) for column in zip(*found, strict=True))
    order = np.argsort(begin, kind="stable")
    return Segments(begin[order], finish[order], kinds[order])


def _depths(timeline: Timeline, start: int, end: int, most: int) -> Depths:
    """How many launches are in the queue or at work, at every change; thinned to the deepest."""
    launches, rows = timeline.launches, timeline.rows
    owner = launches.of_row[rows]
    finished = launches.end.copy()
    np.maximum.at(
        finished, owner[owner != NONE], timeline.recording.device.end[rows[owner != NONE]]
    )
    changes = np.concatenate((launches.end, finished))
    times = distinct(np.append(changes[(changes > start) & (changes < end)], start))
    depth = depth_at(times, launches.end, finished)
    stretch = np.linspace(0, len(times), min(most, len(times)), endpoint=False).astype(np.int64)
    return Depths(times[stretch], np.maximum.reduceat(depth, stretch))


def _thread(timeline: Timeline, index: int) -> str:
    """A thread by its role; its ids say nothing to a reader."""
    recording = timeline.recording
    if index == recording.main_thread:
        return "main thread"
    return "helper thread" if index in timeline.line.threads else "thread"


def kind_name(kind: int) -> str:
    """``launch``, ``sync`` ..."""
    return LineKind(kind).name.lower()
