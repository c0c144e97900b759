"""What the device does with its time: compute, memory, copy, communication, other."""

from __future__ import annotations

import numpy as np

from boundby.frozen import frozen
from boundby.intervals import Intervals, Ints, merge, union
from boundby.read.recording import NONE
from boundby.replay.values import Part
from boundby.timeline.timeline import Timeline

PARTS: tuple[Part, ...] = (
    "device-compute",
    "device-memory",
    "device-other",
    "device-communication",
    "device-copy",
)
"""Exclusive owners of device time; an instant belongs to the first that is active."""


@frozen
class DeviceSplit:
    """Device time of the steps.

    Attributes:
        busy_ns_per_step: Union over streams of the work the steps launched, per step.
        shares: Share of each part; sums to 1.
    """

    busy_ns_per_step: float
    shares: dict[Part, float]

    def scaled(self, factor: float) -> DeviceSplit:
        """The same work at other clocks."""
        return DeviceSplit(self.busy_ns_per_step * factor, self.shares)


def split_device(timeline: Timeline, part_of_row: Ints) -> DeviceSplit:
    """Exclusive device time by part.

    Args:
        part_of_row: int64[len(timeline.rows)] index into PARTS.
    """
    inside = timeline.row_step != NONE
    rows, part = timeline.rows[inside], part_of_row[inside]
    work = timeline.recording.device
    covered: list[Intervals] = []
    for index in range(len(PARTS)):
        mine = rows[part == index]
        own = union(work.start[mine], work.end[mine])
        covered.append(merge(covered[-1], own) if covered else own)
    upto = np.array([c.total for c in covered], dtype=np.float64)
    total = float(upto[-1])
    exclusive = np.diff(upto, prepend=0.0)
    shares = exclusive / total if total else np.array([0.0, 0.0, 1.0, 0.0, 0.0])
    return DeviceSplit(total / len(timeline.steps), dict(zip(PARTS, shares.tolist(), strict=True)))
