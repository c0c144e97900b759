"""What one call does: profiled once, after the measurement, and held against the roofs.

A time below the floor is impossible: the work was not waited for, or was not done.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np

from boundby.bench.framework import torch, torch_module
from boundby.bench.result import Work
from boundby.read import read_recording
from boundby.read.recording import Device, Recording
from boundby.roofline.ceilings import Ceilings
from boundby.roofline.costs import Cost
from boundby.roofline.devices import match_device
from boundby.roofline.kernels import KernelRoofs, OperatorRun, measure_kernels
from boundby.roofline.placement import OVER, compute_peak
from boundby.units import NS_PER_S


def count_work(call: Callable[[], object]) -> Work:
    """Launches, operations, bytes and the least time of one call on the current device."""
    return work_of(record_call(call))


def record_call(call: Callable[[], object]) -> Recording:
    """A recording of one call, with shapes."""
    profiler = torch_module("profiler")
    kinds = profiler.ProfilerActivity
    with tempfile.TemporaryDirectory(prefix="boundby-") as folder:
        path = Path(folder) / "call.json"
        torch().cuda.synchronize()
        with profiler.profile(
            activities=[kinds.CPU, kinds.CUDA], record_shapes=True, acc_events=True
        ) as recorded:
            call()
            torch().cuda.synchronize()
        recorded.export_chrome_trace(str(path))
        return read_recording(path)


def work_of(recording: Recording, ceilings: Ceilings | None = None) -> Work:
    """Sums over all device rows of a recording.

    Args:
        recording: Of one call.
        ceilings: Of its device; None to look them up by its name.
    """
    ceilings = ceilings or _ceilings(recording.devices)
    rows = np.arange(len(recording.device), dtype=np.int64)
    roofs = measure_kernels(recording, rows, ceilings)
    if not len(rows):
        return Work(launches=0)
    return Work(
        launches=len(rows),
        flops=_total(run.cost.flops for run in roofs.runs if run.cost),
        bytes=_total(run.cost.bytes for run in roofs.runs if run.cost),
        floor_ns=least_ns(roofs, ceilings) if ceilings else None,
        roofs=ceilings.name if ceilings else "",
    )


def least_ns(roofs: KernelRoofs, ceilings: Ceilings) -> float:
    """Least device time of all counted operators, ns, one after the other.

    Bytes that the last cache can hold are left out: a call that is repeated finds them there.
    """
    return sum(_least(run, run.cost, ceilings) for run in roofs.runs if run.cost)


def is_impossible(ns: float, work: Work) -> bool:
    """Whether a time is shorter than its work allows, beyond what clocks and rounding explain."""
    return work.floor_ns is not None and ns * OVER < work.floor_ns


def _least(run: OperatorRun, cost: Cost, ceilings: Ceilings) -> float:
    peak = compute_peak(cost, run.main, ceilings, run.duration_ns).tflops
    compute = (cost.flops or 0.0) / (peak * 1e12) * NS_PER_S if peak else 0.0
    beyond = max((cost.bytes or 0.0) - cost.alike - ceilings.cache_mib * 2**20, 0.0)
    memory = beyond / (ceilings.memory_gbs * 1e9) * NS_PER_S if ceilings.memory_gbs else 0.0
    return max(compute, memory)


def _ceilings(devices: list[Device]) -> Ceilings | None:
    if not devices:
        return None
    device = devices[0]
    return match_device(device.name, device.memory_bytes, device.multiprocessors).ceilings


def _total(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return float(sum(known)) if known else None
