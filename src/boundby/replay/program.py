"""The Program: what a recording says must happen, in host order, without saying when.

A program is a list of *points* on the logical host line (launches, waits, ends of steps), each
preceded by host time split by kind, and a list of device *work* items, one a launch. Replaying
it (``engine.py``) gives the times back; editing it (``edits.py``) asks what if.
"""

from __future__ import annotations

from dataclasses import fields, replace
from enum import IntEnum

import numpy as np
import numpy.typing as npt

from boundby.frozen import frozen
from boundby.intervals import Ints

NOTHING = -1
"""``wait_for``: waits for nothing (its cost is host time alone)."""
ALL_WORK = -2
"""``wait_for``: waits until every stream is drained."""


class PointKind(IntEnum):
    """What happens at a point."""

    LAUNCH = 0
    WAIT = 1
    STEP_END = 2


@frozen
class Points:
    """Points in host order.

    Attributes:
        kind: int8[n] PointKind.
        step: int64[n] step the point belongs to.
        host: int64[n, KINDS] ns of host time before the point takes effect, by LineKind.
        target: int64[n]; of a LAUNCH the work item it enqueues; of a WAIT the item it waits
            for, or ALL_WORK, or NOTHING.
        wake: int64[n] ns from the end of the awaited work until the host goes on (negative for a
            copy that lets the host go before the device is done); 0 elsewhere.
        call: int64[n] row of ``Recording.host``; NONE for a STEP_END.
    """

    kind: npt.NDArray[np.int8]
    step: Ints
    host: npt.NDArray[np.int64]
    target: Ints
    wake: Ints
    call: Ints


@frozen
class Work:
    """Device work items, one a launch, in launch order. A graph launch is one item.

    Attributes:
        stream: int64[m] dense stream number.
        dur: int64[m] ns from first start to last end of the item, inner gaps included.
        busy: int64[m] ns of union busy time inside the item.
        latency: int64[m] ns from the launch point until the work could start on an idle stream.
        lead: int64[m] ns the stream stays idle before this item although it is queued.
        after: int64[m] item of another stream it was seen to wait for; NOTHING if none.
        nodes: int64[m] device rows in the item.
        launch: int64[m] index into ``Timeline.launches``.
    """

    stream: Ints
    dur: Ints
    busy: Ints
    latency: Ints
    lead: Ints
    after: Ints
    nodes: Ints
    launch: Ints

    def __len__(self) -> int:
        return len(self.dur)


@frozen
class Program:
    """One recorded window as a replayable program.

    Attributes:
        steps: Number of steps in it.
        edge_waits: Waits before the first and after the last launch that were left out.
        queue_limit: Work items that may be queued before a launch call blocks.
        takes_turns: Whether several streams were recorded that never ran side by side: what holds
            them apart may be unrecorded, so the next window does not begin before this one ends.
    """

    steps: int
    points: Points
    work: Work
    edge_waits: int
    queue_limit: int
    takes_turns: bool = False

    def with_host(self, host: npt.NDArray[np.int64]) -> Program:
        """The same program with other host times, int64[n, KINDS]."""
        return replace(self, points=replace(self.points, host=host))

    def with_work(self, work: Work) -> Program:
        """The same program with other device work."""
        return replace(self, work=work)

    def middle(self, most_points: int) -> Program:
        """The middle steps with at most ``most_points`` points, but three steps at least.

        A few steps stand for many when what-ifs are asked of a long recording.
        """
        first, last = self.middle_steps(most_points)
        return self if last - first == self.steps else self._steps(first, last)

    def middle_steps(self, most_points: int) -> tuple[int, int]:
        """First and last (exclusive) of the middle steps that hold at most so many points."""
        per_step = np.bincount(self.points.step, minlength=self.steps)
        keep = min(max(3, int(most_points / max(per_step.mean(), 1))), self.steps)
        first = (self.steps - keep) // 2
        return first, first + keep

    def _steps(self, first: int, last: int) -> Program:
        points, work = self.points, self.work
        inside = (points.step >= first) & (points.step < last)
        launches = inside & (points.kind == PointKind.LAUNCH)
        items = np.sort(points.target[launches])
        begin, end = int(items[0]), int(items[-1]) + 1

        def shifted(target: Ints) -> Ints:
            known = (target >= begin) & (target < end)
            return np.where(known, target - begin, np.where(target < 0, target, NOTHING))

        return replace(
            self,
            steps=last - first,
            points=Points(
                kind=points.kind[inside],
                step=points.step[inside] - first,
                host=points.host[inside],
                target=shifted(points.target[inside]),
                wake=points.wake[inside],
                call=points.call[inside],
            ),
            work=Work(
                **{
                    f.name: getattr(work, f.name)[begin:end]
                    for f in fields(work)
                    if f.name != "after"
                },
                after=shifted(work.after[begin:end]),
            ),
        )

    @property
    def host_ns(self) -> npt.NDArray[np.int64]:
        """int64[KINDS]: host time of the whole window by kind, waits for work not included."""
        return np.asarray(self.points.host.sum(axis=0), dtype=np.int64)
