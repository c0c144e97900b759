"""The Timeline of one device: everything later stages ask about when things happened."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from boundby.frozen import frozen
from boundby.intervals import Ints
from boundby.read.recording import NONE, Recording
from boundby.timeline.busy import Busy, build_busy
from boundby.timeline.calls import classify_names
from boundby.timeline.hostline import HostLine, build_host_line
from boundby.timeline.launches import Launches, join_launches
from boundby.timeline.steps import Steps, find_steps


@frozen
class Timeline:
    """Host line and device line of one device.

    Attributes:
        device: Its id; NONE where the recording holds no device work.
        calls: int8 CallKind of every name of the recording.
        steps: Host ranges of the steps.
        launches: Calls that enqueued work on this device.
        launch_step: int64[len(launches)] step of each launch, NONE outside.
        rows: int64 device rows of this device, whoever launched them.
        row_step: int64[len(rows)] step whose host range holds the launch, NONE where none does.
        busy: Busy time of ``rows``.
        line: The logical host line.
    """

    recording: Recording
    device: int
    calls: npt.NDArray[np.int8]
    steps: Steps
    launches: Launches
    launch_step: Ints
    rows: Ints
    row_step: Ints
    busy: Busy
    line: HostLine

    @property
    def has_device_work(self) -> bool:
        """Whether any device row was recorded."""
        return bool(len(self.rows))


def build_timeline(recording: Recording, device: int | None = None) -> Timeline:
    """Join launches to work, find the steps, and lay out both lines.

    Args:
        device: Id of the device; None for the busiest.
    """
    device = busiest_device(recording) if device is None else device
    launches = join_launches(recording, device)
    calls = classify_names(recording.names, recording.host.name)
    steps = find_steps(recording, launches)
    launch_step = steps.of(launches.start)
    rows = np.flatnonzero(recording.device.device == device)
    of_row = launches.of_row[rows]
    row_step = np.full(len(rows), NONE, dtype=np.int64)
    row_step[of_row != NONE] = launch_step[of_row[of_row != NONE]]
    return Timeline(
        recording=recording,
        device=device,
        calls=calls,
        steps=steps,
        launches=launches,
        launch_step=launch_step,
        rows=rows,
        row_step=row_step,
        busy=build_busy(recording, rows),
        line=build_host_line(recording, launches, calls),
    )


def busiest_device(recording: Recording) -> int:
    """Id of the device with most summed work; NONE without device rows."""
    work = recording.device
    if not len(work):
        return NONE
    ids, inverse = np.unique(work.device, return_inverse=True)
    return int(ids[np.argmax(np.bincount(inverse, weights=work.dur))])
