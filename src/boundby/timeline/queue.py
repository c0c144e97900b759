"""The queue between host and device: how deep it is, and how long a launch waits in it."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from boundby.distribution import distinct, percentiles
from boundby.intervals import Ints
from boundby.timeline.summary import QueueDelay
from boundby.units import us


def depth_at(times: Ints, submitted: Ints, finished: Ints) -> Ints:
    """Work submitted but not finished at each time, int64 like ``times``."""
    enqueued = np.searchsorted(np.sort(submitted), times, side="right")
    done = np.searchsorted(np.sort(finished), times, side="right")
    return np.maximum(enqueued - done, 0)


def previous_end(stream: Ints, start: Ints, end: Ints) -> Ints:
    """End of the work before each row on its own stream; int64 minimum for the first.

    Rows must be ordered by start.
    """
    before = np.full(len(start), np.iinfo(np.int64).min, dtype=np.int64)
    for value in distinct(stream):
        rows = np.flatnonzero(stream == value)
        before[rows[1:]] = np.maximum.accumulate(end[rows])[:-1]
    return before


def queue_delay(delay: Ints, onto_empty: npt.NDArray[np.bool_]) -> QueueDelay:
    """Percentiles of kernel start minus launch start over launches onto an empty queue.

    A negative one is unknown: the clocks disagree, which ``kernel-before-launch`` tells.
    """
    empty = delay[onto_empty]
    if not len(empty):
        return QueueDelay(None, None)
    p50, p99 = percentiles(empty, (50, 99))
    return QueueDelay(*(us(delay) if delay >= 0 else None for delay in (p50, p99)))
