"""The device as the observed process uses it: never initialised, never waited for unasked."""

from __future__ import annotations

from collections import deque
from math import ceil
from time import perf_counter
from typing import Any

from boundby.capture.tape import RunFolder
from boundby.read.capture_folder import Row

MOST_EVENTS = 4096
SHARE = 0.002
"""Of a step that the events may cost the host."""
FEWEST = 8
"""Intervals of a pass, whatever its events cost: the clock is a median of so many stretches."""
TRIED = 8


def has_device() -> bool:
    """Whether the program uses a CUDA device by now; asking does not make it use one."""
    import torch

    return bool(torch.cuda.is_available() and torch.cuda.is_initialized())


def is_capturing() -> bool:
    """Whether a graph is being captured: then nothing may be recorded or waited for."""
    import torch

    return torch.cuda.is_initialized() and torch.cuda.is_current_stream_capturing()


def synchronize() -> None:
    """Wait for the device, outside of steps; nothing without one."""
    import torch

    if has_device():
        torch.cuda.synchronize()


class DeviceClock:
    """CUDA events at step marks, read by query when they are done.

    An interval between two includes the device's waits for the host: it is the step, not the work.
    The events are made before the pass, and recorded at every so many marks: recording one costs
    the host a call to the driver, making one costs several.

    Args:
        folder: Where intervals are written.
        steps: Marks of the pass.
        step_s: Seconds of a step, as far as known.
    """

    def __init__(self, folder: RunFolder, steps: int, step_s: float) -> None:
        self._tape = folder.tape
        self._free = made_events(min(TRIED, steps + 1))
        self.every = spacing(cost_s(self._free), steps, step_s)
        more = min(steps // self.every + 2, MOST_EVENTS) - len(self._free)
        self._free += made_events(max(more, 0))
        self._pending: deque[tuple[Any, int]] = deque()

    def mark(self, step: int, *, first: bool = False) -> None:
        """Record an event at every so many marks, and at the first."""
        if (first or step % self.every == 0) and self._free:
            event = self._free.pop()
            event.record()
            self._pending.append((event, step))

    def resolve(self) -> None:
        """Write the intervals between events that are done by now."""
        last = None
        while self._pending and self._pending[0][0].query():
            event, step = self._pending.popleft()
            if last is not None:
                before, since = last
                apart = before.elapsed_time(event) * 1e6 / max(step - since, 1)
                self._tape.put(Row.DEVICE, 0, step, round(apart))
            last = event, step


def made_events(count: int) -> list[Any]:
    """Events that exist on the device: recording one for the first time makes it."""
    import torch

    events = [torch.cuda.Event(enable_timing=True) for _ in range(count)]
    for event in events:
        event.record()
    return events


def cost_s(events: list[Any]) -> float:
    """Seconds that the host takes to record an event, the least of these: a full queue waits."""
    taken = []
    for event in events:
        begin = perf_counter()
        event.record()
        taken.append(perf_counter() - begin)
    return min(taken)


def spacing(cost_s: float, steps: int, step_s: float) -> int:
    """Steps from one event to the next: so many that they cost little, and enough remain."""
    wanted = ceil(cost_s / (SHARE * max(step_s, 1e-6)))
    return max(1, min(wanted, steps // FEWEST))
