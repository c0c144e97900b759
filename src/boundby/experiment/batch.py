"""The batch search: a process for each size, three updates at least, throughput decides."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from boundby.experiment.settings import MEMORY_SHARE
from boundby.experiment.values import Trial

GROWS = 1.02
"""A doubling that gains less than 2% throughput ends the search."""
NEAR = 0.98
"""The smallest size within 2% of the best is taken: the rest costs memory for nothing."""
MOST_DOUBLINGS = 8

Probe = Callable[[int], Trial | None]
"""Measures a size in a process of its own; None where there is no time left."""
Ended = Literal["memory", "saturated", "failed", "budget", "most"]


@dataclass(frozen=True)
class Search:
    """What was found.

    Attributes:
        size: The one to take; None where none beats the present one.
        probes: Sizes and what they gave.
        ended: Why it went no further.
        failed_at: Size that did not fit or failed; None where none did.
    """

    size: int | None
    probes: tuple[tuple[int, Trial], ...]
    ended: Ended
    failed_at: int | None = None

    @property
    def why(self) -> str:
        """In words."""
        last, probe = self.probes[-1] if self.probes else (0, Trial())
        said = f": {probe.message}" if probe.message else ""
        return {
            "memory": f"batch {self.failed_at} leaves too little memory",
            "saturated": f"throughput no longer grows at batch {last}",
            "failed": f"batch {self.failed_at} fails{said}",
            "budget": "there was no time for more",
            "most": f"batch {last} was the last to try",
        }[self.ended]


def search(
    present: int,
    throughput: float,
    probe: Probe,
    capacity: int | None,
    start: int | None = None,
) -> Search:
    """Double the batch while throughput grows and memory lasts.

    Args:
        present: Samples of today's step.
        throughput: Samples a second of today.
        probe: Measures one size.
        capacity: Bytes that may be used; None where unknown.
        start: First size to try; None for twice that of today.
    """
    probes: list[tuple[int, Trial]] = []
    before, size = (throughput, present) if start is None else (0.0, start // 2)
    ended, failed_at = "most", None
    for _ in range(MOST_DOUBLINGS):
        size *= 2
        found = probe(size)
        if found is None:
            ended = "budget"
            break
        probes.append((size, found))
        reason = _is_over(found, capacity)
        if reason:
            ended, failed_at = reason, size
            break
        now = found.samples_per_s or 0.0
        if now < GROWS * before:
            ended = "saturated"
            break
        before = now
    fitting = [pair for pair in probes if _is_over(pair[1], capacity) is None]
    return Search(_smallest(fitting, throughput), tuple(probes), ended, failed_at)  # type: ignore[arg-type]


def _is_over(found: Trial, capacity: int | None) -> Ended | None:
    """Why a size cannot be taken; None where it can."""
    if found.failure == "oom":
        return "memory"
    if found.failure is not None:
        return "failed"
    used = found.memory.reserved or found.memory.peak
    if capacity is not None and used is not None and used > MEMORY_SHARE * capacity:
        return "memory"
    return None


def _smallest(fitting: list[tuple[int, Trial]], throughput: float) -> int | None:
    rates = {size: found.samples_per_s or 0.0 for size, found in fitting}
    most = max(rates.values(), default=0.0)
    if most < GROWS * throughput:
        return None
    return min(size for size, rate in rates.items() if rate >= NEAR * most)
