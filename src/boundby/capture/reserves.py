"""What the allocator says at the end of a step, and whether such readings show trouble."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Literal, TypedDict

Sign = Literal["grows", "fragments", "peaks", "full", "retries"]

RISES = 6
"""Steps in a row, each of which ends with more in use than the one before."""
STRANDED = 1.5
"""Reserved over used, both at their peaks, above which pieces that serve nobody are likely."""
FULL = 0.85


class Reading(TypedDict):
    """Bytes at the end of a step; peaks are those of the process so far.

    The peaks are not reset: the program may read them itself.
    """

    allocated_bytes_current: int
    allocated_bytes_peak: int
    reserved_bytes_current: int
    reserved_bytes_peak: int
    capacity: int
    retries: int


def read_allocator() -> Reading:
    """Ask the allocator of the current device; it takes about a tenth of a millisecond."""
    import torch

    stats = torch.cuda.memory_stats()
    return {
        "allocated_bytes_current": stats.get("allocated_bytes.all.current", 0),
        "allocated_bytes_peak": stats.get("allocated_bytes.all.peak", 0),
        "reserved_bytes_current": stats.get("reserved_bytes.all.current", 0),
        "reserved_bytes_peak": stats.get("reserved_bytes.all.peak", 0),
        "capacity": torch.cuda.get_device_properties(torch.cuda.current_device()).total_memory,
        "retries": stats.get("num_alloc_retries", 0),
    }


def sign(readings: Sequence[Reading]) -> Sign | None:
    """What calls for a snapshot though nobody asked for one; None where nothing does."""
    from boundby.memory import decide  # noqa: PLC0415 -- the program need not wait for it

    if not readings:
        return None
    last = readings[-1]
    used, reserved = last["allocated_bytes_peak"], last["reserved_bytes_peak"]
    if _grows([each["allocated_bytes_current"] for each in readings], used):
        return "grows"
    if last["retries"]:
        return "retries"
    if reserved > STRANDED * used and reserved - used >= decide.PEAK_BYTES:
        return "fragments"
    if used > FULL * last["capacity"]:
        return "full"
    comes_and_goes = used - last["allocated_bytes_current"]
    is_large = used >= max(decide.PEAK_BYTES, decide.NEGLIGIBLE_SHARE * last["capacity"])
    return "peaks" if is_large and comes_and_goes >= decide.PEAK_SHARE * used else None


def _grows(used: Sequence[int], peak: int) -> bool:
    """Whether the last steps all ended with more than the one before, and enough to matter."""
    from boundby.memory.growth import LEAST_BYTES, LEAST_SHARE  # noqa: PLC0415 -- as above

    last = used[-RISES - 1 :]
    rises = all(after > before for before, after in pairwise(last))
    gained = last[-1] - last[0]
    return len(last) > RISES and rises and gained >= max(LEAST_BYTES, LEAST_SHARE * peak)
