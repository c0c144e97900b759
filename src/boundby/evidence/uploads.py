"""Copies between host and device: from which memory, how long, and beside what."""

from __future__ import annotations

import re

import numpy as np

from boundby.evidence.launched import Launched, nodes_named
from boundby.frozen import frozen
from boundby.intervals import Ints, union
from boundby.read.recording import NONE, DeviceKind
from boundby.timeline.copies import CopyKind, classify_copies
from boundby.timeline.timeline import Timeline
from boundby.units import ms

BUILT = re.compile(r"^aten::lift_fresh$")
"""What ``torch.tensor(...)`` leaves in a recording, once a call."""
SMALL_BYTES = 4096


@frozen
class Uploads:
    """Copies between host and device, per step; all None without device work.

    Attributes:
        pageable_ms, pageable: Device time and count of copies to the device from memory that is
            not pinned.
        pinned_ms, pinned: The same from pinned memory.
        small: Pageable copies to the device of at most 4 KiB: single values and short lists.
        built: Tensors built from Python values, outside the optimizer (which counts its steps so).
        to_host_ms, to_host: Copies to the host of more than 4 KiB.
        alone_share: Share of the time of copies to the device in which no kernel ran; None
            without copies.
    """

    pageable_ms: float | None = None
    pageable: float | None = None
    pinned_ms: float | None = None
    pinned: float | None = None
    small: float | None = None
    built: float | None = None
    to_host_ms: float | None = None
    to_host: float | None = None
    alone_share: float | None = None


def find_uploads(launched: Launched) -> Uploads:
    """Copies that steps launch."""
    timeline = launched.timeline
    work, rows = timeline.recording.device, timeline.rows[timeline.row_step != NONE]
    if not len(rows):
        return Uploads()
    copies = rows[work.kind[rows] == DeviceKind.COPY]
    kind = classify_copies(timeline.recording.names, work.name[copies])
    small = (work.size[copies] != NONE) & (work.size[copies] <= SMALL_BYTES)
    pageable = copies[(kind == CopyKind.TO_DEVICE) & ~small]
    pinned = copies[kind == CopyKind.TO_DEVICE_PINNED]
    to_host = copies[((kind == CopyKind.TO_HOST) | (kind == CopyKind.TO_HOST_PINNED)) & ~small]

    def per_step(chosen: Ints) -> tuple[float, float]:
        return ms(work.dur[chosen].sum()) / launched.steps, len(chosen) / launched.steps

    (pageable_ms, pageable_count), (pinned_ms, pinned_count), (host_ms, host_count) = map(
        per_step, (pageable, pinned, to_host)
    )
    return Uploads(
        pageable_ms=pageable_ms,
        pageable=pageable_count,
        pinned_ms=pinned_ms,
        pinned=pinned_count,
        small=float(((kind == CopyKind.TO_DEVICE) & small).sum()) / launched.steps,
        built=_built(launched),
        to_host_ms=host_ms,
        to_host=host_count,
        alone_share=_alone(timeline, np.concatenate((pageable, pinned)), rows),
    )


def _built(launched: Launched) -> float:
    begin = launched.tree.start[nodes_named(launched, BUILT)]
    outside = launched.updates.within(begin, begin + 1) == 0
    return float(outside.sum()) / launched.steps


def _alone(timeline: Timeline, copies: Ints, rows: Ints) -> float | None:
    work = timeline.recording.device
    total = int(work.dur[copies].sum())
    if not total:
        return None
    kernels = rows[work.kind[rows] == DeviceKind.KERNEL]
    covered = union(work.start[kernels], work.end[kernels])
    beside = int(covered.within(work.start[copies], work.end[copies]).sum())
    return 1.0 - beside / total
