"""Copies that hold the host: through pageable memory, and longer than handing over their bytes."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from boundby.read.recording import DeviceKind
from boundby.timeline.copies import MAY_BLOCK, classify_copies
from boundby.timeline.timeline import Timeline
from boundby.units import NS_PER_US

STAGED_AT_ONCE = 30 * NS_PER_US
"""A call for a pageable copy that returns sooner only handed its bytes over (CUDA stages up to
64 KB and returns)."""


def blocking_copies(timeline: Timeline) -> npt.NDArray[np.bool_]:
    """bool[len(launches)]: copies whose call lasts into the copy itself, so the host waited."""
    launches, device = timeline.launches, timeline.recording.device
    if not len(launches):
        return np.zeros(0, dtype=np.bool_)
    first = launches.first_row
    host_copy = np.isin(classify_copies(timeline.recording.names, device.name[first]), MAY_BLOCK)
    copies = (device.kind[first] == DeviceKind.COPY) & host_copy
    copies &= launches.end > device.start[first]
    copies &= launches.end - launches.start > STAGED_AT_ONCE
    return np.asarray(copies)
