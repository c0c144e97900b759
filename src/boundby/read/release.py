"""Giving freed memory back to the system while a large recording is analysed.

Decoding makes millions of short-lived objects, and the analysis many arrays that live for a
moment. glibc keeps the pages of both: on a 500 MB trace 60 MB after reading, and as much again
later. Neither function does anything where the C library is not glibc.
"""

from __future__ import annotations

import ctypes
import sys

WORTH_IT = 100_000
"""Decoded events from which releasing (about 5 ms) pays."""
M_MMAP_THRESHOLD = -3
"""``mallopt`` parameter, malloc.h of glibc."""
LARGE_ARRAY = 256 << 10
"""Bytes from which an array gets pages of its own, which are returned when it is freed."""


def release_freed_memory(events: int) -> None:
    """Return freed pages to the system.

    Args:
        events: How many events were decoded since the program began.
    """
    trim = _of_libc("malloc_trim") if events >= WORTH_IT else None
    if trim is not None:
        trim(0)


def return_large_arrays() -> None:
    """Let every large array be returned when freed, from now on, in this whole process."""
    mallopt = _of_libc("mallopt")
    if mallopt is not None:
        mallopt(M_MMAP_THRESHOLD, LARGE_ARRAY)


def _of_libc(name: str) -> ctypes._NamedFuncPointer | None:
    if not sys.platform.startswith("linux"):
        return None
    return getattr(ctypes.CDLL(None), name, None)
