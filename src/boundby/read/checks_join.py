"""Checks of launches against the device work they caused."""

from __future__ import annotations

import numpy as np

from boundby.read.columns import Array
from boundby.read.facts import Facts
from boundby.read.recording import NONE, Quality
from boundby.read.wording import counted
from boundby.units import NS_PER_US, ms, us

CLOCK_TOLERANCE_NS = NS_PER_US
"""Both clocks are converted, each with an error below this."""
GRAVE_EARLY_SHARE = 0.1
GRAVE_UNLAUNCHED_SHARE = 0.2
GRAVE_UNANSWERED_SHARE = 0.2
"""With a fifth of one side missing, the join of host and device says nothing about the program."""
TOLD_SHARE = 0.01
GRAVE_LATE_SHARE = 0.2

_RECORD_WHOLE = "record again, whole steps, one profiler session per process"


def find_kernels_before_launch(facts: Facts) -> Quality | None:
    """Device rows that start before the call that launched them: the clocks disagree."""
    recording = facts.recording
    rows = np.flatnonzero(facts.call_of != NONE)
    lead = recording.host.start[facts.call_of[rows]] - recording.device.start[rows]
    early = lead[lead > CLOCK_TOLERANCE_NS]
    if not len(early):
        return None
    is_grave = len(early) > GRAVE_EARLY_SHARE * len(rows)
    return Quality(
        "kernel-before-launch",
        "fatal" if is_grave else "warning",
        len(early),
        f"{len(early)} of {len(rows)} device events start before their launch (by up to "
        f"{us(early.max()):.0f} us): the clocks of host and device disagree; {_RECORD_WHOLE}.",
    )


def _came_before(facts: Facts) -> Array:
    """Device rows without a launch that were launched before the recording began.

    Correlations rise with time, so theirs are below all recorded ones; failing that, they come
    before all launched work.
    """
    device, host = facts.recording.device, facts.recording.host
    unlaunched = facts.call_of == NONE
    recorded = host.correlation[facts.call & (host.correlation != NONE)]
    if not len(recorded) or unlaunched.all():
        return np.zeros(len(device), dtype=bool)
    first_launched = device.start[~unlaunched].min()
    is_older = (device.correlation != NONE) & (device.correlation < recorded.min())
    return np.asarray(unlaunched & (is_older | (device.start < first_launched)))


def find_kernels_without_launch(facts: Facts) -> Quality | None:
    """Device rows whose launch is missing although it fell into the recording."""
    device = facts.recording.device
    if not len(device) or not len(facts.recording.host):
        return None
    earlier = _came_before(facts)
    missing = int(((facts.call_of == NONE) & ~earlier).sum())
    total = len(device) - int(earlier.sum())
    if not missing:
        return None
    is_grave = missing > GRAVE_UNLAUNCHED_SHARE * total
    return Quality(
        "kernels-without-launch",
        "fatal" if is_grave else "warning",
        missing,
        f"{missing} of {total} device events have no launch in the recording: launch calls were "
        f"lost or not recorded; {_RECORD_WHOLE}, with ProfilerActivity.CPU and CUDA.",
    )


def find_earlier_kernels(facts: Facts) -> Quality | None:
    """Device rows launched before the recording began: lawful, and of no recorded step."""
    earlier = int(_came_before(facts).sum())
    if not earlier:
        return None
    return Quality(
        "launched-before-recording",
        "info",
        earlier,
        f"{counted(earlier, 'device event')} launched before the recording began; no step of it "
        "is charged for them.",
    )


def find_launches_without_kernels(facts: Facts) -> Quality | None:
    """Launches whose kernel is missing; graph launches and captured ones are other checks."""
    if not facts.kernel.any():
        return None
    host = facts.recording.host
    launches = facts.launch & ~facts.graph_launch & ~facts.captured & (host.correlation != NONE)
    total = int(launches.sum())
    silent = int((launches & ~facts.has_work).sum())
    if silent <= TOLD_SHARE * total or facts.is_incomplete:
        return None
    is_grave = silent > GRAVE_UNANSWERED_SHARE * total
    return Quality(
        "launches-without-kernels",
        "fatal" if is_grave else "warning",
        silent,
        f"{silent} of {total} launches have no kernel in the recording: the profiler stopped "
        "before the device was done, or dropped records; synchronize before it stops and record "
        "fewer steps.",
    )


def find_late_device(facts: Facts) -> Quality | None:
    """The first launched work starts long after its launch although the device is idle."""
    device, host = facts.recording.device, facts.recording.host
    rows = np.flatnonzero(facts.call_of != NONE)
    if not len(rows):
        return None
    first = rows[np.argmin(device.start[rows])]
    launched = int(host.end[facts.call_of[first]])
    begins = int(device.start[first])
    before = facts.busy.within(np.array([launched]), np.array([max(begins, launched)]))
    idle = begins - launched - int(before[0])
    if idle <= GRAVE_LATE_SHARE * facts.span_ns:
        return None
    return Quality(
        "late-device",
        "fatal",
        1,
        f"The first kernel starts {ms(idle):.1f} ms after its launch while the device is idle: "
        f"device work before it was cut away, or the clocks disagree; {_RECORD_WHOLE}.",
    )
