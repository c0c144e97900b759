"""Calls before the clock starts: until the time of a call is steady, and what the first ones cost.

The first call pays for what is made once: the context of the device, handles of the libraries,
memory from the driver, compilation, modules that load on first use.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from statistics import median

from boundby.bench.framework import torch
from boundby.bench.machine import Machine, is_cuda
from boundby.units import NS_PER_MS, NS_PER_S

WINDOW = 3
STEADY = 0.97
"""A window this much faster than the one before is still warming up."""
LEAST_NS = 50 * NS_PER_MS
"""Device clocks rise within tens of milliseconds of work."""
MOST_NS = 10 * NS_PER_S
FEWEST_CALLS = 2 * WINDOW
MOST_CALLS = 20_000


@dataclass(frozen=True)
class FirstCost:
    """One part of what a first call costs.

    Attributes:
        name: ``context``, ``blas-handle``, ``compile``, ``first-call`` (the rest of it).
        ns: Host time.
        text: For the reader.
    """

    name: str
    ns: float
    text: str


@dataclass(frozen=True)
class WarmUp:
    """How the warm-up went.

    Attributes:
        calls: Made before the first sample.
        ns: Their time.
        is_steady: Whether calls had stopped getting faster.
        first: What the first call cost, by part.
    """

    calls: int
    ns: float
    is_steady: bool
    first: tuple[FirstCost, ...]


@dataclass
class _Counters:
    """What torch counts: seconds of compilation, segments asked from the driver."""

    compile_s: float = 0.0
    segments: int = 0
    parts: list[FirstCost] = field(default_factory=list)


def warm_up(
    call: Callable[[], object],
    machine: Machine,
    least_ns: float = LEAST_NS,
    most_ns: float = MOST_NS,
) -> WarmUp:
    """Call until two windows of calls in a row take the same time, or the time is up.

    Args:
        call: What will be measured.
        machine: Where.
        least_ns: Warm up at least so long.
        most_ns: And at most so long, however slow it still gets faster.
    """
    first = [*_device_costs(machine)] if is_cuda(machine) else []
    began = machine.now_ns()
    with _counted(machine) as counters:
        taken = [_once(call, machine)]
    first += _first_call(taken[0], counters)
    while not _is_done(taken, machine.now_ns() - began, least_ns, most_ns):
        taken.append(_once(call, machine))
    return WarmUp(len(taken), float(sum(taken)), _is_steady(taken), tuple(first))


def _once(call: Callable[[], object], machine: Machine) -> float:
    begin = machine.now_ns()
    call()
    machine.synchronize()
    return float(machine.now_ns() - begin)


def _is_done(taken: list[float], spent: float, least_ns: float, most_ns: float) -> bool:
    if spent >= most_ns or len(taken) >= MOST_CALLS:
        return True
    return spent >= least_ns and _is_steady(taken)


def _is_steady(taken: list[float]) -> bool:
    if len(taken) < FEWEST_CALLS + 1:
        return False
    last, before = taken[-WINDOW:], taken[-2 * WINDOW : -WINDOW]
    return median(last) >= STEADY * median(before)


def _device_costs(machine: Machine) -> Iterator[FirstCost]:
    """Context and handle, where they do not exist yet."""
    cuda = torch().cuda
    if not cuda.is_initialized():
        begin = machine.now_ns()
        cuda.init()
        torch().empty(1, device="cuda")
        machine.synchronize()
        yield FirstCost("context", machine.now_ns() - begin, "context of the device")
    begin = machine.now_ns()
    cuda.current_blas_handle()
    machine.synchronize()
    lasted = machine.now_ns() - begin
    if lasted >= NS_PER_MS:
        yield FirstCost("blas-handle", lasted, "handle of the BLAS library")


@contextmanager
def _counted(machine: Machine) -> Iterator[_Counters]:
    before, counters = _read_counters(machine), _Counters()
    yield counters
    after = _read_counters(machine)
    counters.compile_s = after.compile_s - before.compile_s
    counters.segments = after.segments - before.segments


def _read_counters(machine: Machine) -> _Counters:
    counters = _Counters()
    dynamo = sys.modules.get("torch._dynamo.utils")
    metrics = getattr(dynamo, "compilation_time_metrics", {})
    for name in ("entire_frame_compile", "_compile.compile_inner"):
        if name in metrics:
            counters.compile_s = float(sum(metrics[name]))
            break
    if is_cuda(machine):
        counters.segments = int(torch().cuda.memory_stats().get("segment.all.allocated", 0))
    return counters


def _first_call(lasted: float, counters: _Counters) -> Iterator[FirstCost]:
    compiling = min(counters.compile_s * NS_PER_S, lasted)
    if compiling:
        yield FirstCost("compile", compiling, "torch.compile")
    text = "first call" + (" without compilation" if compiling else "")
    if counters.segments:
        text += f", with {counters.segments} memory segments asked from the driver"
    yield FirstCost("first-call", lasted - compiling, text)
