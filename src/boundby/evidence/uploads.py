"""Copies between host and device: from which memory, how long, and beside what."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Uploads:
    """Copies between host and device, per step.

    Attributes:
        pageable_ms, pageable: Device time and count of copies to the device from memory that is
            not pinned.
        pinned_ms, pinned: The same from pinned memory.
        small: Pageable copies to the device of at most 4 KiB: single values and short lists.
        built: Tensors built from Python values.
        to_host_ms, to_host: Copies to the host.
        alone_share: Share of the time of copies to the device in which no kernel ran.
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
