"""Which part of the device time each row belongs to, by the family of its kernel."""

from __future__ import annotations

import numpy as np

from boundby.intervals import Ints
from boundby.replay.split import PARTS
from boundby.replay.values import Part
from boundby.roofline.families import Family, classify_kernels
from boundby.timeline.timeline import Timeline

PART_OF_LIMIT: dict[str, Part] = {
    "compute": "device-compute",
    "memory": "device-memory",
    "communication": "device-communication",
    "copy": "device-copy",
    "other": "device-other",
}
"""The part of each kind of roof a family stands under."""


def part_of_rows(timeline: Timeline) -> Ints:
    """int64[len(timeline.rows)]: index into PARTS of each row."""
    names, column = timeline.recording.names, timeline.recording.device.name
    part_of_family = np.zeros(len(Family), dtype=np.int64)
    for member in Family:
        part_of_family[member] = PARTS.index(PART_OF_LIMIT[member.limit])
    return part_of_family[classify_kernels(names, column)[column[timeline.rows]]]
