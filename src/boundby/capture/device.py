"""The device as the observed process uses it: never initialised, never waited for unasked."""

from __future__ import annotations

from collections import deque
from typing import Any

from boundby.capture.tape import RunFolder
from boundby.read.capture_folder import SETTLING, Row

INTERVALS = 5
"""Of a pass, at least, where it has as many steps: the clock is their median."""


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
    The events are made before the pass: making one costs the host 45 to 62 us, recording it 23 to
    40 (as the first call after a step, on the host of an H200). So there are few: the first once
    the pass has settled, then one at every so many marks.

    Args:
        folder: Where intervals are written.
        step: The last one before the pass.
        steps: Marks of the pass.
    """

    def __init__(self, folder: RunFolder, step: int, steps: int) -> None:
        self._tape = folder.tape
        settling = min(SETTLING, steps - 1)
        self.every = spacing(steps)
        self._next = step + settling
        self._free = made_events((steps - settling) // self.every + 1)
        self._pending: deque[tuple[Any, int]] = deque()
        self.mark(step)

    def mark(self, step: int) -> None:
        """Record an event where one is due."""
        if step >= self._next and self._free:
            event = self._free.pop()
            event.record()
            self._pending.append((event, step))
            self._next = step + self.every

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


def spacing(steps: int) -> int:
    """Steps from one event of a pass to the next."""
    return max(1, (steps - SETTLING) // INTERVALS)


def made_events(count: int) -> list[Any]:
    """Events that exist on the device: recording one for the first time makes it."""
    import torch

    events = [torch.cuda.Event(enable_timing=True) for _ in range(count)]
    for event in events:
        event.record()
    return events
