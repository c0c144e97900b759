"""What bounds the step in time: memory is traded against it, so advice depends on it."""

from __future__ import annotations

from dataclasses import dataclass

HOST_BOUND = frozenset({"launch-bound", "python-bound", "sync-bound"})
"""Classes in which the step hardly grows with the batch: a larger one moves the class."""

DEVICE_BOUND = frozenset({"compute-bound", "memory-bound", "communication-bound"})
CLASSES = (*sorted(HOST_BOUND), *sorted(DEVICE_BOUND))


@dataclass(frozen=True)
class Pace:
    """The verdict on time, as a trace, a run or the user says.

    Attributes:
        name: One of ``CLASSES``.
        busy: Share of the step, without the profiler, in which the device works; None where
            nobody measured it.
    """

    name: str
    busy: float | None = None

    @property
    def is_of_host(self) -> bool:
        """Whether the host sets the pace, so that the device has room."""
        return self.name in HOST_BOUND
