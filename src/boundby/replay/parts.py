"""Which part of the device time each row belongs to: by its roof where counted, else its family."""

from __future__ import annotations

import numpy as np

from boundby.intervals import Ints
from boundby.replay.split import PARTS, DeviceSplit
from boundby.replay.values import Part
from boundby.roofline.families import Family, classify_kernels
from boundby.roofline.kernels import KernelRoofs, Side
from boundby.timeline.timeline import Timeline

PART_OF_LIMIT: dict[str, Part] = {
    "compute": "device-compute",
    "memory": "device-memory",
    "communication": "device-communication",
    "copy": "device-copy",
    "other": "device-other",
}
"""The part of each kind of roof."""


def part_of_rows(timeline: Timeline, roofs: KernelRoofs) -> Ints:
    """int64[len(timeline.rows)]: index into PARTS of each row.

    Args:
        roofs: Rows of some steps held against the roofs; other rows of the same kernel follow
            what most of its time there did, and kernels that never ran there their family.
    """
    names, column = timeline.recording.names, timeline.recording.device.name
    family = classify_kernels(names, column)
    part_of_family = np.array([PARTS.index(PART_OF_LIMIT[f.limit]) for f in Family])
    part_of_name = _part_by_time(roofs, part_of_family[family])
    part = part_of_name[column[timeline.rows]]
    measured = np.searchsorted(timeline.rows, roofs.rows)
    part[measured] = _parts_of_sides()[roofs.side]
    return part


def _parts_of_sides() -> Ints:
    return np.array([PARTS.index(PART_OF_LIMIT[side.name.lower()]) for side in Side])


def _part_by_time(roofs: KernelRoofs, otherwise: Ints) -> Ints:
    """For each name the part that most of its measured time belongs to."""
    column = roofs.recording.device.name[roofs.rows]
    time = np.zeros((len(otherwise), len(PARTS)))
    np.add.at(time, (column, _parts_of_sides()[roofs.side]), roofs.dur)
    known = time.sum(axis=1) > 0
    return np.where(known, time.argmax(axis=1), otherwise)


def split_at_roofline(split: DeviceSplit, roofs: KernelRoofs) -> DeviceSplit:
    """What is left of the device time with every counted row at its floor.

    Args:
        split: Device time of the steps.
        roofs: Rows of some steps held against the roofs, which stand for all.
    """
    part = _parts_of_sides()[roofs.side]
    floor = np.where(np.isnan(roofs.floor_ns), roofs.dur, roofs.floor_ns)
    now = np.bincount(part, roofs.dur, minlength=len(PARTS))
    least = np.bincount(part, floor, minlength=len(PARTS))
    kept = np.where(now > 0, least / np.maximum(now, 1), 1.0)
    left = {each: split.shares[each] * float(kept[at]) for at, each in enumerate(PARTS)}
    total = sum(left.values())
    shares = {each: value / total for each, value in left.items()} if total else split.shares
    return DeviceSplit(split.busy_ns_per_step * total, shares)
