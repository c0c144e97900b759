"""Memory over time as counters that ui.perfetto.dev and chrome://tracing draw."""

from __future__ import annotations

import numpy as np

from boundby.memory.history import History
from boundby.report.perfetto import as_trace

MOST_POINTS = 50_000
NS_PER_US = 1000


def counters(history: History) -> str:
    """A trace with two counters (bytes), in use and reserved, and a mark at each refusal.

    Times are microseconds of the recorder's clock, as in a trace of the same process; events
    without a time stand one microsecond apart.
    """
    count = len(history.events)
    step = max(1, -(-count // MOST_POINTS))
    start = np.arange(0, count, step)
    live, kept = (
        np.maximum.reduceat(curve[1:], start) if count else curve[:0]
        for curve in (history.live_curve, history.reserved_curve)
    )
    has_time = count > 0 and bool((history.events.time >= 0).all())
    times = history.events.time / NS_PER_US if has_time else np.arange(count, dtype=np.float64)
    process = history.device + 1  # 0 is the idle process of a viewer
    name = f"device {history.device} memory"
    events: list[dict[str, object]] = [
        {"ph": "M", "name": "process_name", "pid": process, "args": {"name": name}}
    ]
    events += [
        {
            "ph": "C",
            "pid": process,
            "name": name,
            "ts": at,
            "args": {"in use": used, "free in cache": all_ - used},
        }
        for at, used, all_ in zip(times[start].tolist(), live.tolist(), kept.tolist(), strict=True)
    ]
    events += [
        {
            "ph": "i",
            "s": "p",
            "pid": process,
            "name": f"out of memory: {refusal.size} bytes",
            "ts": float(times[refusal.moment]),
        }
        for refusal in history.refusals
    ]
    return as_trace(events)
