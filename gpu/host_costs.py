"""What the host pays: for an operator, a launch, a wait, and for being watched."""
# ruff: noqa: TID253 (torch is what is measured)

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from statistics import median
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional
from torch.profiler import ProfilerActivity, profile

US = 1e6
CALLS = 500  # launches that fit in the queue, so that none blocks on it
REPEATS = 15
WATCHED_CALLS = 200  # fewer, since every one leaves events behind
FRAMES = 2000
WAITS = 200
BLOCKED_US = 1000  # a launch call this long waits for room in the queue
SLEEP_CYCLES = 400_000  # of the device; about 0.2 ms

Costs = dict[str, Any]
Watch = Callable[[], AbstractContextManager[Any]]

CPU = [ProfilerActivity.CPU]
BOTH = [ProfilerActivity.CPU, ProfilerActivity.CUDA]
WATCHES: dict[str, Watch] = {
    "clean": nullcontext,
    "profiler_cpu": lambda: profile(activities=CPU),
    "profiler_cpu_shapes": lambda: profile(activities=CPU, record_shapes=True),
    "profiler_cuda": lambda: profile(activities=[ProfilerActivity.CUDA]),
    "profiler_both": lambda: profile(activities=BOTH),
    "profiler_both_shapes": lambda: profile(activities=BOTH, record_shapes=True),
    "profiler_both_shapes_stack": lambda: profile(
        activities=BOTH, record_shapes=True, with_stack=True
    ),
}


def submitted(call: Callable[[], object], calls: int = CALLS, repeats: int = REPEATS) -> float:
    """Host microseconds a call, from an empty queue, without waiting for the device."""
    times = []
    for _ in range(repeats):
        torch.cuda.synchronize()
        begin = time.perf_counter()
        for _ in range(calls):
            call()
        times.append((time.perf_counter() - begin) * US / calls)
    torch.cuda.synchronize()
    return median(times)


def timed(call: Callable[[], object], times: int = WAITS) -> list[float]:
    """Host microseconds of each of several calls, sorted; the device is idle before each."""
    found = []
    for _ in range(times):
        torch.cuda.synchronize()
        begin = time.perf_counter()
        call()
        found.append((time.perf_counter() - begin) * US)
    return sorted(found)


def quartiles(times: list[float]) -> list[float]:
    """The quartiles of sorted times."""
    return [times[len(times) * part // 4] for part in (1, 2, 3)]


def python_frame() -> None:
    """A Python function that does nothing."""


def calls_of_interest() -> dict[str, Callable[[], object]]:
    """Small operators and calls whose host cost is asked for."""
    x = torch.randn(1000, device="cuda")
    with_grad = torch.randn(1000, device="cuda", requires_grad=True)
    rows, weight = torch.randn(8, 64, device="cuda"), torch.randn(64, 64, device="cuda")
    bias = torch.randn(64, device="cuda")
    return {
        "add_in_place": lambda: x.add_(1),
        "add": lambda: x + 1,
        "add_with_grad": lambda: with_grad + 1,
        "linear": lambda: functional.linear(rows, weight, bias),
        "view": lambda: x.view(10, 100),
        "empty": lambda: torch.empty(1000, device="cuda"),
        "bare_launch": lambda: torch.cuda._sleep(1),  # noqa: SLF001 (a launch with no operator around it)
        "python_frame": python_frame,
        "c_function": lambda: len("ab"),
    }


def watched() -> Costs:
    """Host microseconds a call, clean and under each kind of watching."""
    costs: Costs = {name: {} for name in WATCHES}
    for watch, start in WATCHES.items():
        with start():
            for name, call in calls_of_interest().items():
                submitted(call, WATCHED_CALLS, 1)
                costs[watch][name] = submitted(call, WATCHED_CALLS, 3)
    costs["clean_again"] = {name: submitted(call) for name, call in calls_of_interest().items()}
    return costs


def python_tracer() -> Costs:
    """Microseconds a Python frame and a C call cost in themselves, and more under the tracer."""

    def frames() -> None:
        for _ in range(FRAMES):
            python_frame()

    def builtins() -> None:
        for _ in range(FRAMES):
            len("ab")

    clean = [submitted(loop, 1, 5) / FRAMES for loop in (frames, builtins)]
    with profile(activities=CPU, with_stack=True):
        traced = [submitted(loop, 1, 5) / FRAMES for loop in (frames, builtins)]
    return {"clean": clean, "traced": traced, "of": ["python frame", "c function"]}


def autograd() -> Costs:
    """Microseconds a backward node: a chain of multiplications, by loop on the autograd thread."""

    def backward() -> float:
        leaf = torch.randn(1000, device="cuda", requires_grad=True)
        y = leaf
        for _ in range(CALLS):
            y = y * 1.01
        loss = y.sum()
        torch.cuda.synchronize()
        begin = time.perf_counter()
        loss.backward()
        return (time.perf_counter() - begin) * US / CALLS

    return {"backward_node": median(backward() for _ in range(REPEATS))}


def waits() -> Costs:
    """Round trips in microseconds: quartiles."""
    x = torch.randn(1000, device="cuda")
    one = torch.ones((), device="cuda")
    big = torch.randn(2048, 2048, device="cuda")

    def add_and_wait() -> None:
        x.add_(1)
        torch.cuda.synchronize()

    def add_and_item() -> float:
        return one.add_(1).item()

    def work_and_item() -> float:
        return (big @ big)[0, 0].item()

    found = {
        "synchronize_idle": timed(torch.cuda.synchronize),
        "item_idle": timed(one.item),
        "add_then_synchronize": timed(add_and_wait),
        "add_then_item": timed(add_and_item),
        "matmul_then_item": timed(work_and_item),
        "to_host_4kb": timed(x.cpu),
        "nonzero": timed(x.nonzero),
        "first_add_after_synchronize": timed(lambda: x.add_(1)),
    }
    return {name: quartiles(times) for name, times in found.items()}


def around_a_long_kernel() -> Costs:
    """Host time from launch to the end of the wait, less the kernel's own time by device events.

    It is the launch, its latency and the wake-up together.
    """
    first, last = (torch.cuda.Event(enable_timing=True) for _ in range(2))

    def kernel_us() -> float:
        first.record()
        torch.cuda._sleep(SLEEP_CYCLES)  # noqa: SLF001
        last.record()
        torch.cuda.synchronize()
        return first.elapsed_time(last) * 1e3

    def sleep_and_wait() -> None:
        torch.cuda._sleep(SLEEP_CYCLES)  # noqa: SLF001
        torch.cuda.synchronize()

    own = median(kernel_us() for _ in range(WAITS))
    whole = quartiles(timed(sleep_and_wait))
    return {"kernel_by_events": own, "launch_latency_and_wake_up": [each - own for each in whole]}


def from_a_trace() -> Costs:
    """Latency of a launch onto an idle device and wake-up after it, as a recording shows them."""
    with profile(activities=BOTH) as profiler:
        for _ in range(WAITS):
            torch.cuda._sleep(SLEEP_CYCLES // 4)  # noqa: SLF001
            torch.cuda.synchronize()
            time.sleep(0.0002)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "trace.json"
        profiler.export_chrome_trace(str(file))
        events = json.loads(file.read_text("utf-8"))["traceEvents"]
    return gaps_of([event for event in events if event.get("ph") == "X"])


def gaps_of(events: list[dict[str, Any]]) -> Costs:
    """Start of each launch to start of its kernel, and end of that to the end of the wait."""
    launches = {
        event["args"]["correlation"]: event
        for event in events
        if event["name"].startswith("cudaLaunchKernel")
    }
    kernels = sorted((e for e in events if e.get("cat") == "kernel"), key=lambda e: e["ts"])
    waits_after = sorted(e["ts"] + e["dur"] for e in events if e["name"] == "cudaDeviceSynchronize")
    calls, latency, wake = [], [], []
    for kernel in kernels:
        launch = launches[kernel["args"]["correlation"]]
        end = kernel["ts"] + kernel["dur"]
        calls.append(launch["dur"])
        latency.append(kernel["ts"] - launch["ts"] - launch["dur"])
        wake.append(next((wait - end for wait in waits_after if wait > end), 0.0))
    names = ("launch_call", "launch_end_to_kernel_start", "kernel_end_to_host_awake")
    return {
        name: quartiles(sorted(times))
        for name, times in zip(names, (calls, latency, wake), strict=True)
    }


def graphs() -> Costs:
    """Microseconds a node of a graph of tiny kernels, and to submit the whole."""
    x = torch.randn(1000, device="cuda")
    graph = torch.cuda.CUDAGraph()
    x.add_(1)
    torch.cuda.synchronize()
    with torch.cuda.graph(graph):
        for _ in range(1000):
            x.add_(1)

    def replay() -> None:
        graph.replay()
        torch.cuda.synchronize()

    return {"node": median(timed(replay)) / 1000, "submit_1000": median(timed(graph.replay, 20))}


def queue_depth() -> Costs:
    """How many launches are taken behind a busy kernel before one blocks."""
    x = torch.randn(1000, device="cuda")
    times = []
    torch.cuda.synchronize()
    torch.cuda._sleep(SLEEP_CYCLES * 500)  # noqa: SLF001
    for _ in range(3000):
        begin = time.perf_counter()
        x.add_(1)
        times.append((time.perf_counter() - begin) * US)
    torch.cuda.synchronize()
    blocked = [index for index, spent in enumerate(times) if spent > BLOCKED_US]
    return {"launches_before_block": blocked[0] if blocked else None}


def copies() -> Costs:
    """GB/s of 64 MB to the device, and host microseconds until the call returns."""
    pageable = torch.randn(4096, 4096)
    pinned = pageable.pin_memory()
    size = pageable.numel() * 4

    def to_device(source: Tensor) -> Callable[[], object]:
        def copy() -> None:
            source.to("cuda", non_blocking=True)
            torch.cuda.synchronize()

        return copy

    return {
        name: {
            "gb_per_s": size / median(timed(to_device(source), 20)) / 1e3,
            "host_us": median(timed(lambda: source.to("cuda", non_blocking=True), 20)),  # noqa: B023 (called here)
        }
        for name, source in (("pageable", pageable), ("pinned", pinned))
    }


def measured() -> Costs:
    """Everything, in microseconds where no other unit is named."""
    parts = (autograd, waits, around_a_long_kernel, graphs, queue_depth, copies)
    clean = {part.__name__: part() for part in parts}
    return {
        **clean,
        "watched": watched(),
        "python_tracer": python_tracer(),
        "trace": from_a_trace(),
    }
