"""Physics before verdict: what a recording cannot have shown, or does not hold.

Every reader calls ``inspect`` at its end. Each check is one question to the same facts and answers
with one finding or None; ``fatal`` findings void a verdict and say how to record a better one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from boundby.distribution import distinct
from boundby.errors import UsageError
from boundby.read import (
    checks_clock,
    checks_device,
    checks_devices,
    checks_extent,
    checks_host,
    checks_join,
)
from boundby.read.checks_devices import OTHER_DEVICES
from boundby.read.correlations import with_unique_ids
from boundby.read.facts import Facts, derive_facts
from boundby.read.recording import Quality, Recording

_SEVERITIES = ("fatal", "warning", "info")
CHECKS: tuple[Callable[[Facts], Quality | None], ...] = (
    checks_device.find_missing_kernels,
    checks_device.find_too_little_work,
    checks_device.find_stream_overlap,
    checks_device.find_unrecorded_graphs,
    checks_devices.find_other_devices,
    checks_extent.find_outlasting,
    checks_extent.find_crossing,
    checks_extent.find_one_long,
    checks_extent.find_no_length,
    checks_clock.find_early_returns,
    checks_clock.find_late_clock,
    checks_join.find_kernels_before_launch,
    checks_join.find_kernels_without_launch,
    checks_join.find_earlier_kernels,
    checks_join.find_launches_without_kernels,
    checks_join.find_late_device,
    checks_host.find_missing_host,
    checks_host.find_cold_start,
    checks_host.find_unrecorded_wait,
    checks_host.find_idle_steps,
    checks_host.find_profiler_overhead,
)


def inspect(recording: Recording) -> Recording:
    """The recording, each launch with an id of its own and the findings of all checks added.

    Findings are ordered gravest first.
    """
    recording = with_unique_ids(recording)
    facts = derive_facts(recording)
    found = [finding for check in CHECKS if (finding := check(facts)) is not None]
    known = {finding.id for finding in recording.quality}
    merged = [*recording.quality, *(finding for finding in found if finding.id not in known)]
    merged.sort(key=lambda finding: _SEVERITIES.index(finding.severity))
    return replace(recording, quality=tuple(merged))


def of_device(recording: Recording, device: int) -> Recording:
    """The recording with what it says of its other devices as seen from this one.

    Raises:
        UsageError: That device did no work in it.
    """
    worked = distinct(recording.device.device).tolist()
    if device not in worked:
        raise UsageError(
            f"{recording.source.path}: device {device} did no work in it",
            f"devices that did: {', '.join(map(str, worked)) or 'none'}",
        )
    found = checks_devices.find_other_devices(derive_facts(recording), device)
    quality = (found if each.id == OTHER_DEVICES else each for each in recording.quality)
    return replace(recording, quality=tuple(each for each in quality if each is not None))


def is_void(recording: Recording) -> bool:
    """Whether any finding voids a verdict on this recording."""
    return any(finding.severity == "fatal" for finding in recording.quality)
