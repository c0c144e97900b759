"""Figures that no device can have are unknown, not numbers to reckon with."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields, replace

from boundby.read.nsight_compute_values import KernelLaunch, Metrics

LARGEST = 1e18
"""In base units: a kernel of 30 years, an exabyte per second. Sums of such figures stay finite."""


def possible(launches: Iterable[KernelLaunch]) -> tuple[tuple[KernelLaunch, ...], int]:
    """The launches without impossible figures, and how many these were."""
    kept: list[KernelLaunch] = []
    count = 0
    for launch in launches:
        found = {entry.name: getattr(launch.metrics, entry.name) for entry in fields(Metrics)}
        bad = {name for name, value in found.items() if value is not None and not _is_one(value)}
        stalls = {reason: share for reason, share in launch.stalls.items() if _is_one(share)}
        pipe = launch.pipe if launch.pipe is not None and _is_one(launch.pipe.share) else None
        lost = len(bad) + len(launch.stalls) - len(stalls) + (pipe is not launch.pipe)
        metrics = Metrics(**{name: None if name in bad else found[name] for name in found})
        kept.append(replace(launch, metrics=metrics, stalls=stalls, pipe=pipe) if lost else launch)
        count += lost
    return tuple(kept), count


def is_measured(launch: KernelLaunch) -> bool:
    """Whether anything is known of it."""
    values = (getattr(launch.metrics, entry.name) for entry in fields(Metrics))
    return any(value is not None for value in values)


def _is_one(value: float) -> bool:
    """NaN fails both comparisons."""
    return 0 <= value <= LARGEST
