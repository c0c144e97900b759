"""Memory that is freed stays in this process for the next array.

The C library of Linux (glibc) gives the top of its heap back as soon as 128 KiB of it are free, and
the system clears each page again when it is asked for: a third of the time of reading 500 MB.
"""

from __future__ import annotations

M_TRIM_THRESHOLD, M_TOP_PAD = -1, -2
"""Parameters of ``mallopt`` (its manual page, mallopt(3))."""
KEPT_BYTES = 1 << 30
"""Free bytes at the top above which some go back: more than any report needs."""
STEP_BYTES = 1 << 24
"""How much the heap grows at a time."""


def keep_freed_memory() -> bool:
    """Ask the C library; whether it has such a setting. Only for a process that is all ours."""
    import ctypes

    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError, TypeError):
        return False
    return bool(mallopt(M_TRIM_THRESHOLD, KEPT_BYTES) and mallopt(M_TOP_PAD, STEP_BYTES))
