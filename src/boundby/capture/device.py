"""The device as the observed process uses it: never initialised, never waited for unasked."""

from __future__ import annotations

from collections import deque
from typing import Any

from boundby.capture.tape import RunFolder
from boundby.read.capture_folder import Row

MOST_PENDING = 4096


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
    """

    def __init__(self, folder: RunFolder, every: int) -> None:
        import torch

        self._tape = folder.tape
        self._every = every
        self._event = torch.cuda.Event
        self._pending: deque[tuple[Any, int]] = deque()
        self._last: tuple[Any, int] | None = None

    def mark(self, step: int, *, first: bool = False) -> None:
        """Record an event at every so many marks; the first of a pass stands alone."""
        if first:
            self._pending.append((None, step))
        elif step % self._every:
            return
        if len(self._pending) < MOST_PENDING:
            event = self._event(enable_timing=True)
            event.record()
            self._pending.append((event, step))

    def resolve(self) -> None:
        """Write the intervals between events that are done by now."""
        while self._pending:
            event, step = self._pending[0]
            if event is not None and not event.query():
                return
            self._pending.popleft()
            if event is not None and self._last is not None:
                before, since = self._last
                apart = before.elapsed_time(event) * 1e6 / max(step - since, 1)
                self._tape.put(Row.DEVICE, 0, step, round(apart))
            self._last = None if event is None else (event, step)
