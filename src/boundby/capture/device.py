"""The device as the observed process uses it: never initialised, never waited for unasked."""

from __future__ import annotations

from collections import deque
from typing import Any

from boundby.capture.tape import RunFolder
from boundby.read.capture_folder import Row

FEWEST = 8
"""Intervals of a pass: the clock is a median of so many stretches. More events only cost."""


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
    The events are made before the pass: making one costs the host 45 us, recording it 23 us (as the
    first call after a step, on the host of an H200).

    Args:
        folder: Where intervals are written.
        steps: Marks of the pass.
    """

    def __init__(self, folder: RunFolder, steps: int) -> None:
        self._tape = folder.tape
        self.every = max(1, steps // FEWEST)
        self._free = made_events(steps // self.every + 2)
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
