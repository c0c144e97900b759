"""Device time inside steps by kernel name."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from boundby.evidence.launched import Floats
from boundby.frozen import frozen
from boundby.read.recording import NONE, DeviceKind
from boundby.timeline.timeline import Timeline


@frozen
class KernelTime:
    """Device time of kernels launched inside steps.

    Attributes:
        names: Names that occur.
        time: float64[len(names)] ns, summed over streams.
        total: ns of all device work of the steps, copies among it.
    """

    names: list[str]
    time: Floats
    total: float

    def share(self, test: Callable[[str], object]) -> float:
        """Share of all device time in kernels whose name passes the test."""
        passed = [bool(test(name)) for name in self.names]
        return float(self.time[np.array(passed, dtype=np.bool_)].sum() / self.total)


def kernel_time(timeline: Timeline) -> KernelTime:
    """Kernels of the steps, those of graph launches one by one."""
    work = timeline.recording.device
    rows = timeline.rows[timeline.row_step != NONE]
    kernels = rows[work.kind[rows] == DeviceKind.KERNEL]
    time = np.bincount(work.name[kernels], work.dur[kernels])
    used = np.flatnonzero(time)
    names = [timeline.recording.names[index] for index in used.tolist()]
    return KernelTime(names, time[used].astype(np.float64), float(work.dur[rows].sum()))
