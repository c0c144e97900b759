"""Timeline -> Program."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from boundby.distribution import distinct
from boundby.frozen import frozen
from boundby.intervals import Ints, union
from boundby.read.recording import NONE, HostKind
from boundby.replay.program import ALL_WORK, NOTHING, PointKind, Points, Program, Work
from boundby.replay.work import build_work
from boundby.timeline.blocking import blocking_copies
from boundby.timeline.calls import CallKind
from boundby.timeline.edges import at_edges
from boundby.timeline.hostline import KINDS, LineKind
from boundby.timeline.queue import depth_at
from boundby.timeline.timeline import Timeline
from boundby.units import NS_PER_US

QUEUE_LIMIT = 1024
"""Launches a stream's channel holds before the launch call blocks (CUDA; measured about 1,020 on
an H200 with driver 580)."""
NEARLY_FULL = 0.9
"""Share of the limit from which a long launch call is taken as blocked by the full queue."""
DEFAULT_WAKE = 10 * NS_PER_US
"""End of the awaited work until the host goes on, where the recording shows no wait (measured
10-40 us on an H200 host)."""
CALL_FLOOR = 3 * NS_PER_US
"""Cost of a wait that has nothing to wait for, where the recording shows none."""
CLOCK_TOLERANCE = 2 * NS_PER_US
"""How far a wait may return before the recorded end of the work it waited for."""

NO_OVERLAP = 0.01
"""Share of the work beside the busiest stream up to which an overlap is the clock's rounding."""


@frozen
class Waits:
    """Host waits inside steps.

    Attributes:
        row: int64[n] row of ``Recording.host``.
        target: int64[n] awaited item, ALL_WORK or NOTHING.
        cost: int64[n] ns of the call that are not waiting.
        wake: int64[n] ns.
    """

    row: Ints
    target: Ints
    cost: Ints
    wake: Ints


def build_program(timeline: Timeline) -> Program:
    """The steps of a timeline as a program."""
    blocking = blocking_copies(timeline)
    launches = timeline.launches
    reference = np.where(blocking, launches.start, launches.end)
    work, early = build_work(timeline, reference, blocking)
    if not len(work):
        return _empty(timeline, work)
    copies = _copy_waits(timeline, work.launch, blocking, early)
    waits = _join_waits(timeline, work.launch, copies)
    inside, edges = _without_edges(timeline, waits)
    return Program(
        steps=len(timeline.steps),
        points=_lay_out(timeline, work.launch, reference, inside),
        work=work,
        edge_waits=edges,
        queue_limit=QUEUE_LIMIT,
        takes_turns=_takes_turns(timeline),
    )


def _takes_turns(timeline: Timeline) -> bool:
    """Whether the work of steps lies on several streams of which no two ran at the same time."""
    work, rows = timeline.recording.device, timeline.rows[timeline.row_step != NONE]
    each = [
        union(work.start[mine], work.end[mine]).total
        for stream in distinct(work.stream[rows])
        for mine in [rows[work.stream[rows] == stream]]
    ]
    beside = sum(each) - max(each)
    overlap = sum(each) - union(work.start[rows], work.end[rows]).total
    return len(each) > 1 and overlap <= NO_OVERLAP * beside


def _empty(timeline: Timeline, work: Work) -> Program:
    """A program without work, for recordings in which no step launched any."""
    none = np.zeros(0, dtype=np.int64)
    host = np.zeros((0, KINDS), dtype=np.int64)
    points = Points(none.astype(np.int8), none, host, none, none, none)
    return Program(len(timeline.steps), points, work, 0, QUEUE_LIMIT)


def _join_waits(timeline: Timeline, items: Ints, copies: Waits) -> Waits:
    """Explicit waits and blocking copies, ordered by start, each with what it waited for."""
    host = timeline.recording.host
    kinds = np.where(host.kind == HostKind.CALL, timeline.calls[host.name], CallKind.OTHER)
    sync = np.isin(
        kinds, (CallKind.DEVICE_SYNC, CallKind.STREAM_SYNC, CallKind.EVENT_SYNC)
    ) & np.isin(host.thread, timeline.line.threads)
    rows = np.flatnonzero(sync)
    rows = rows[timeline.steps.of(host.start[rows]) != NONE]
    explicit = _explicit_waits(timeline, rows, kinds[rows], items)
    joined = Waits(
        *(
            np.concatenate((getattr(explicit, f), getattr(copies, f)))
            for f in ("row", "target", "cost", "wake")
        )
    )
    order = np.argsort(joined.row, kind="stable")
    return Waits(joined.row[order], joined.target[order], joined.cost[order], joined.wake[order])


def _explicit_waits(
    timeline: Timeline, rows: Ints, kinds: npt.NDArray[np.int8], items: Ints
) -> Waits:
    host = timeline.recording.host
    start, end = host.start[rows], host.end[rows]
    awaited = _last_finished(timeline, start, end)
    device_end = timeline.recording.device.end
    finish = np.where(awaited == NONE, start, device_end[np.maximum(awaited, 0)])
    waited = finish > start
    floor = _median(end[~waited] - start[~waited], CALL_FLOOR)
    usual_wake = _median((end - finish)[waited], DEFAULT_WAKE)
    item = _item_of(timeline, awaited, items)
    target = np.where(kinds == CallKind.DEVICE_SYNC, ALL_WORK, item)
    target = np.where(item == NOTHING, NOTHING, target)
    cost = np.where(waited, np.minimum(floor, end - start), end - start)
    wake = np.where(waited, np.maximum(end - finish, 0), usual_wake)
    return Waits(rows, target, cost, wake)


def _last_finished(timeline: Timeline, start: Ints, end: Ints) -> Ints:
    """Device row, launched before each wait, that finished last before the wait returned."""
    work, launches = timeline.recording.device, timeline.launches
    rows = timeline.rows
    of_row = launches.of_row[rows]
    submitted = np.where(of_row == NONE, work.start[rows], launches.start[np.maximum(of_row, 0)])
    finished = work.end[rows]
    order = np.argsort(finished, kind="stable")
    position = np.searchsorted(finished[order], end + CLOCK_TOLERANCE, side="right") - 1
    found = np.full(len(start), NONE, dtype=np.int64)
    for wait in range(len(start)):
        at = int(position[wait])
        while at >= 0 and submitted[order[at]] > start[wait]:
            at -= 1
        found[wait] = rows[order[at]] if at >= 0 else NONE
    return found


def _item_of(timeline: Timeline, rows: Ints, items: Ints) -> Ints:
    """Work item of each device row; NOTHING for work outside the program."""
    if not len(items):
        return np.full(len(rows), NOTHING, dtype=np.int64)
    launch = np.where(rows == NONE, NONE, timeline.launches.of_row[np.maximum(rows, 0)])
    position = np.minimum(np.searchsorted(items, launch), len(items) - 1)
    return np.where((launch != NONE) & (items[position] == launch), position, NOTHING)


def _copy_waits(
    timeline: Timeline, items: Ints, blocking: npt.NDArray[np.bool_], early: Ints
) -> Waits:
    """The waiting half of each blocking copy: until its own work is (nearly) done."""
    item = np.flatnonzero(blocking[items])
    launch = items[item]
    launches = timeline.launches
    finish = timeline.recording.device.end[launches.first_row[launch]]
    return Waits(
        row=launches.row[launch],
        target=item,
        cost=np.zeros(len(item), dtype=np.int64),
        wake=launches.end[launch] - finish + early[item],
    )


def _without_edges(timeline: Timeline, waits: Waits) -> tuple[Waits, int]:
    """Waits before the first and after the last launch belong to the recording: void them.

    They stay as points that cost and wait for nothing, so that their time is no host time.
    """
    edge = at_edges(timeline, timeline.recording.host.start[waits.row])
    void = Waits(
        row=waits.row,
        target=np.where(edge, NOTHING, waits.target),
        cost=np.where(edge, 0, waits.cost),
        wake=np.where(edge, 0, waits.wake),
    )
    return void, int(edge.sum())


def _median(values: Ints, default: int) -> int:
    return int(np.median(values)) if len(values) else default


def _lay_out(timeline: Timeline, items: Ints, reference: Ints, waits: Waits) -> Points:
    """Order launches, waits and step ends, and measure the host time before each."""
    host, launches, steps = timeline.recording.host, timeline.launches, timeline.steps
    n_launch, n_wait, n_step = len(items), len(waits.row), len(steps)
    nothing = np.full(n_step, NOTHING, dtype=np.int64)
    zeros = np.zeros(n_launch, dtype=np.int64)
    kind = np.repeat(
        np.array([PointKind.LAUNCH, PointKind.WAIT, PointKind.STEP_END], dtype=np.int8),
        (n_launch, n_wait, n_step),
    )
    at = np.concatenate((launches.start[items], host.start[waits.row], steps.end - 1))
    until = np.concatenate((reference[items], host.start[waits.row], steps.end))
    resume = np.concatenate((reference[items], host.end[waits.row], steps.end))
    target = np.concatenate((np.arange(n_launch), waits.target, nothing))
    wake = np.concatenate((zeros, waits.wake, np.zeros(n_step, dtype=np.int64)))
    cost = np.concatenate((zeros, waits.cost, np.zeros(n_step, dtype=np.int64)))
    call = np.concatenate((launches.row[items], waits.row, np.full(n_step, NONE)))
    order = np.lexsort((kind, at))
    step = steps.of(at)
    measured = _host_before(timeline, until[order], resume[order], step[order])
    measured[:, LineKind.SYNC] += cost[order]
    measured[:, LineKind.LAUNCH] -= _blocked(timeline, items, kind[order], target[order], measured)
    return Points(kind[order], step[order], measured, target[order], wake[order], call[order])


def _host_before(
    timeline: Timeline, until: Ints, resume: Ints, step: Ints
) -> npt.NDArray[np.int64]:
    """Host time by kind from where the previous point let go until each point."""
    begin = np.concatenate((timeline.steps.start[step[:1]], resume[:-1]))
    begin = np.maximum(begin, timeline.steps.start[step])
    begin = np.maximum.accumulate(begin)
    return timeline.line.time_by_kind(begin, np.maximum(until, begin))


def _blocked(
    timeline: Timeline,
    items: Ints,
    kind: npt.NDArray[np.int8],
    target: Ints,
    host: npt.NDArray[np.int64],
) -> Ints:
    """Host time of launch calls that only waited for room in the queue, per point."""
    blocked = np.zeros(len(kind), dtype=np.int64)
    if len(items) < QUEUE_LIMIT * NEARLY_FULL:
        return blocked
    launches, device = timeline.launches, timeline.recording.device
    depth = depth_at(launches.start, launches.end, device.end[launches.first_row])[items]
    duration = (launches.end - launches.start)[items]
    usual = _median(duration[depth < QUEUE_LIMIT * NEARLY_FULL], int(np.median(duration)))
    excess = np.where(depth >= QUEUE_LIMIT * NEARLY_FULL, np.maximum(duration - usual, 0), 0)
    at_launch = np.flatnonzero(kind == PointKind.LAUNCH)
    blocked[at_launch] = np.minimum(excess[target[at_launch]], host[at_launch, LineKind.LAUNCH])
    return blocked
