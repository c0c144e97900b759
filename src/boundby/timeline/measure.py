"""Numbers read off the two lines, per step. Everything here is observed, nothing estimated."""

from __future__ import annotations

import numpy as np

from boundby.intervals import union
from boundby.read.recording import NONE, DeviceKind
from boundby.timeline.blocking import blocking_copies
from boundby.timeline.busy import build_busy
from boundby.timeline.hostline import LineKind
from boundby.timeline.queue import previous_end, queue_delay
from boundby.timeline.summary import DeviceSummary, HostSummary, QueueDelay
from boundby.timeline.timeline import Timeline
from boundby.units import ms, us

NO_DEVICE = DeviceSummary(None, None, None, None, None, None, None, QueueDelay(None, None), None)


def observed_window(timeline: Timeline) -> tuple[int, int]:
    """From the start of the first step until its steps' host ranges and device work are over."""
    start, end = int(timeline.steps.start[0]), int(timeline.steps.end[-1])
    rows = timeline.rows[timeline.row_step != NONE]
    if len(rows):
        end = max(end, int(timeline.recording.device.end[rows].max()))
    return start, end


def measure_device(timeline: Timeline) -> DeviceSummary:
    """The device line; all None without device work. Waits and estimates are filled in later.

    Where no launch of a step is known, neither is what a step does on the device.
    """
    if not timeline.has_device_work:
        return NO_DEVICE
    recording, steps = timeline.recording, len(timeline.steps)
    inside = timeline.rows[timeline.row_step != NONE]
    window = observed_window(timeline)
    shares = timeline.busy.shares(*window)
    launches = int((timeline.launch_step != NONE).sum())
    kernels = timeline.rows[recording.device.kind[timeline.rows] == DeviceKind.KERNEL]
    return DeviceSummary(
        busy_share_observed=None if shares is None else 1.0 - shares.idle,
        busy_share_unprofiled=None,
        ms_per_step=ms(build_busy(recording, inside).all.total) / steps if launches else None,
        events_per_step=len(inside) / steps if launches else None,
        launches_per_step=launches / steps if launches else None,
        syncs_per_step=None,
        median_kernel_us=us(float(np.median(recording.device.dur[kernels])))
        if len(kernels)
        else None,
        queue_delay_us=_delay(timeline),
        shares=shares,
    )


def _delay(timeline: Timeline) -> QueueDelay:
    launches, work = timeline.launches, timeline.recording.device
    inside = launches.first_row[timeline.launch_step != NONE]
    begin = launches.start[timeline.launch_step != NONE]
    order = np.argsort(work.start[inside], kind="stable")
    first, begin = inside[order], begin[order]
    before = previous_end(work.stream[first], work.start[first], work.end[first])
    return queue_delay(work.start[first] - begin, before <= begin)


def measure_host(timeline: Timeline) -> HostSummary:
    """Shares of the observed host line inside steps; None without steps that submit."""
    if not len(timeline.launches):
        return HostSummary(None, None, None, None)
    steps = timeline.steps
    time = timeline.line.time_by_kind(steps.start, steps.end).sum(axis=0).astype(np.float64)
    total = float(time.sum() - time[LineKind.OVERHEAD])
    if total <= 0:
        return HostSummary(None, None, None, None)
    held = min(_held_by_copies(timeline), float(time[LineKind.LAUNCH]))
    time[LineKind.LAUNCH] -= held
    waits = held + time[LineKind.SYNC] + time[LineKind.CARRIER] + time[LineKind.LOADER]
    return HostSummary(
        launch_call_share=float(time[LineKind.LAUNCH] / total),
        op_share=float((time[LineKind.OP] + time[LineKind.ALLOCATOR]) / total),
        python_share=float(time[LineKind.PYTHON] / total),
        wait_share=float(waits / total),
    )


def _held_by_copies(timeline: Timeline) -> float:
    """Ns in launch calls of steps that are copies holding the host, also past the end of a step."""
    copies = blocking_copies(timeline) & (timeline.launch_step != NONE)
    held = union(timeline.launches.start[copies], timeline.launches.end[copies])
    own = timeline.line.time_by_kind(held.start, held.end)[:, LineKind.LAUNCH]
    return float(own.sum())
