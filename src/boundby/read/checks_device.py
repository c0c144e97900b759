"""Checks of what the device did: whether it was recorded at all, and whether it can be true."""

from __future__ import annotations

import numpy as np

from boundby.read.facts import Facts
from boundby.read.recording import NONE, Quality
from boundby.read.wording import counted
from boundby.units import NS_PER_US, ms

FEWEST_ROWS = 3
FEW_ROWS = 10
FEW_BUSY_SHARE = 0.05
"""Below the first, or below the other two, there is nothing to conclude from."""
OVERLAP_NS = NS_PER_US
"""Shorter overlaps on one stream are rounding, or programmatic dependent launch."""
GRAVE_OVERLAP_SHARE = 0.05
"""Programmatic dependent launch overlaps by 1% of the kernel time; beyond this, clocks are off."""
CAPTURED_SHARE = 0.8
UNRECORDED_GRAPHS_SHARE = 0.5

_RECORD_WHOLE = (
    "record whole steps, synchronize before the profiler stops, and run no other profiler beside it"
)


def find_missing_kernels(facts: Facts) -> Quality | None:
    """No kernel at all: a stopped profiler, a capture, or a program that uses no device."""
    if facts.kernel.any() or facts.is_incomplete or not len(facts.recording.host):
        return None
    launches, captured = int(facts.launch.sum()), int(facts.captured.sum())
    if captured > CAPTURED_SHARE * launches:
        return Quality(
            "capture-only",
            "fatal",
            captured,
            f"All of the {captured} launches were captured into a graph and none ran: record the "
            "replays of the graph, not its capture.",
        )
    if launches:
        return Quality(
            "no-kernels",
            "fatal",
            launches,
            f"The recording holds {launches} launches and not one kernel: the profiler stopped "
            f"early or could not record the device; {_RECORD_WHOLE}.",
        )
    if len(facts.recording.device):
        return None
    if facts.recording.devices:
        return Quality(
            "device-unused",
            "fatal",
            0,
            "A device is present, but nothing was launched on it: the program ran on the CPU; move "
            "model and inputs to the device, or record the part that uses it.",
        )
    return Quality(
        "cpu-only",
        "fatal",
        0,
        "The recording holds CPU events only: record with ProfilerActivity.CUDA on a machine with "
        "a device to see what bounds the step there.",
    )


def find_too_little_work(facts: Facts) -> Quality | None:
    """So few device events that no statement about the program follows."""
    rows = len(facts.recording.device)
    share = facts.busy.total / max(facts.span_ns, 1)
    is_enough = rows >= FEW_ROWS or (rows >= FEWEST_ROWS and share >= FEW_BUSY_SHARE)
    if not facts.kernel.any() or is_enough:
        return None
    return Quality(
        "too-little-device-work",
        "fatal",
        rows,
        f"Only {counted(rows, 'device event')}, {ms(facts.busy.total):.3f} ms of "
        f"{ms(facts.span_ns):.1f} ms: too little to conclude from; record several whole steps.",
    )


def find_stream_overlap(facts: Facts) -> Quality | None:
    """Device rows of one stream that run at the same time."""
    device = facts.recording.device
    if len(device) < 2:  # noqa: PLR2004 - a pair
        return None
    order = np.lexsort((device.start, device.stream, device.device))
    stream, number = device.stream[order], device.device[order]
    start, end, dur = device.start[order], device.end[order], device.dur[order]
    same = (stream[1:] == stream[:-1]) & (number[1:] == number[:-1])
    overlap = np.where(same, np.minimum(end[:-1] - start[1:], dur[1:]), 0)
    overlap = overlap[overlap > OVERLAP_NS]
    if not len(overlap):
        return None
    share = int(overlap.sum()) / max(int(dur.sum()), 1)
    is_grave = share > GRAVE_OVERLAP_SHARE
    meaning = (
        "their durations are not to be trusted."
        if is_grave
        else "dependent launches do so, and time is counted once."
    )
    return Quality(
        "same-stream-overlap",
        "warning" if is_grave else "info",
        len(overlap),
        f"{counted(len(overlap), 'overlap')} of device events on one stream ({share:.1%} of the "
        f"device time): {meaning}",
    )


def find_unrecorded_graphs(facts: Facts) -> Quality | None:
    """Graph launches none of whose kernels were recorded."""
    graphs = facts.graph_launch & (facts.recording.host.correlation != NONE)
    total = int(graphs.sum())
    silent = int((graphs & ~facts.has_work).sum())
    if not silent or facts.is_incomplete or not facts.kernel.any():
        return None
    is_grave = silent >= UNRECORDED_GRAPHS_SHARE * total
    return Quality(
        "graph-not-recorded",
        "fatal" if is_grave else "warning",
        silent,
        f"{silent} of {total} graph launches show no kernel: the device was busy in ways this "
        "recording does not hold; record again with a newer driver or without graphs.",
    )
