"""What is measured with: a clock, a wait, marks on the device, a cache to empty. Tests bring fakes.

Three clocks, always named. ``wall``: from an idle device to an idle device. ``submit``: until the
call returns. ``device``: between marks in the device's own queue, kept full.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any, Protocol

from boundby.bench.framework import has_cuda, torch

CACHE_TIMES = 2
"""Bytes written to empty a cache of n bytes: twice as many, since replacement is not exact."""
DEFAULT_CACHE_BYTES = 64 << 20


class Machine(Protocol):
    """The place where a function runs."""

    has_device: bool

    def now_ns(self) -> int:
        """Host clock, ns."""

    def synchronize(self) -> None:
        """Wait until all submitted work is done."""

    def mark(self) -> object:
        """Put a mark into the queue of the device."""

    def between_ns(self, first: object, second: object) -> float:
        """Device time between two marks that have passed, ns."""

    def hold(self, ns: float) -> None:
        """Keep the device busy for about so long, so that submitted work queues up."""

    def empty_cache(self) -> None:
        """Drop what the last cache before memory holds."""


@dataclass
class HostMachine:
    """A CPU: it executes what it submits, so there are no marks and no queue."""

    has_device: bool = False
    _scratch: Any = None

    def now_ns(self) -> int:
        """Host clock, ns."""
        return time.perf_counter_ns()

    def synchronize(self) -> None:
        """Nothing is outstanding."""

    def mark(self) -> object:
        """The host clock stands in."""
        return time.perf_counter_ns()

    def between_ns(self, first: object, second: object) -> float:
        """Host time between two marks, ns."""
        assert isinstance(first, int)  # noqa: S101 -- own marks
        assert isinstance(second, int)  # noqa: S101 -- own marks
        return float(second - first)

    def hold(self, ns: float) -> None:
        """There is no queue."""

    def empty_cache(self) -> None:
        """Write more than any cache holds."""
        if self._scratch is None:
            self._scratch = bytearray(DEFAULT_CACHE_BYTES)
        view = memoryview(self._scratch)
        view[:] = bytes(len(view))


@dataclass
class CudaMachine:
    """The current device of torch and its current stream."""

    has_device: bool = True
    _scratch: Any = None
    _cycles_per_ns: float | None = None

    def now_ns(self) -> int:
        """Host clock, ns."""
        return time.perf_counter_ns()

    def synchronize(self) -> None:
        """Wait for every stream of the device."""
        torch().cuda.synchronize()

    def mark(self) -> object:
        """A timing event in the current stream."""
        event = torch().cuda.Event(enable_timing=True)
        event.record()
        return event

    def between_ns(self, first: Any, second: Any) -> float:  # noqa: ANN401 -- torch events
        """Device time between two events that have passed, ns; resolution about 0.5 us."""
        return float(first.elapsed_time(second)) * 1e6

    def hold(self, ns: float) -> None:
        """Spin on the device; nothing where this torch has no such kernel."""
        spin = getattr(torch().cuda, "_sleep", None)
        if spin is not None and ns > 0:
            spin(int(ns * self._rate(spin)))

    def _rate(self, spin: Any) -> float:  # noqa: ANN401 -- a torch function
        """Clock cycles a ns, measured once."""
        if self._cycles_per_ns is None:
            probe = 2_000_000
            spin(probe)
            first = self.mark()
            spin(probe)
            second = self.mark()
            self.synchronize()
            self._cycles_per_ns = probe / max(self.between_ns(first, second), 1.0)
        return self._cycles_per_ns

    def empty_cache(self) -> None:
        """Write twice the size of the last cache."""
        if self._scratch is None:
            properties = torch().cuda.get_device_properties(torch().cuda.current_device())
            size = getattr(properties, "L2_cache_size", 0) or DEFAULT_CACHE_BYTES
            self._scratch = torch().empty(CACHE_TIMES * size, dtype=torch().int8, device="cuda")
        self._scratch.zero_()


def this_machine(device: str | None = None) -> Machine:
    """The machine that a function runs on: the GPU where there is one, unless told ``cpu``."""
    return CudaMachine() if device != "cpu" and has_cuda() else HostMachine()


def is_cuda(machine: Machine) -> bool:
    """Whether the machine is torch's own device: only there memory and driver can be asked."""
    return isinstance(machine, CudaMachine)
