"""What the present device and its host attain: bandwidth, products, copies, launches, waits.

Device times lie between marks in a queue that a hold keeps full, and the fastest tenth counts: a
ceiling is what is reached before clocks fall under load. Host times are medians, of calls that fit
into the queue, so that none blocks on it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from statistics import median
from typing import Any

from boundby.bench.framework import has_cuda, torch
from boundby.bench.machine import CudaMachine, Machine
from boundby.errors import CannotTellError
from boundby.roofline.measured import MeasuredCeilings, device_key
from boundby.units import NS_PER_MS, NS_PER_US

Call = Callable[[], object]

WARM_UP_NS = 50 * NS_PER_MS
"""Clocks rise within tens of milliseconds of work."""
ROUND_NS = 150 * NS_PER_MS
"""Device time of one kernel that is sampled, about."""
FEWEST, MOST = 5, 50
"""Samples of a kernel."""
FASTEST = 10
"""One of so many samples is as fast as a ceiling or faster (H200: the median of 50 bf16 products in
a row was 706 to 731 TFLOP/s, where a short run reached 759)."""
LONGEST_NS = 100 * NS_PER_MS
"""Products that take longer are measured at a smaller size."""
HOLD_NS = 5 * NS_PER_MS
"""Submitting the samples of a kernel takes less than this."""
HALF_CAPABILITY = (8, 0)
"""From Ampere on, tensor cores take bf16 and TF32 (CUDA programming guide, arithmetic)."""
FP8_CAPABILITY = (8, 9)


@dataclass(frozen=True)
class Sizes:
    """How large the work is; tests take small ones.

    Attributes:
        copy_bytes: Of an array in device memory, far above any cache.
        products: Sides of square products, the largest first.
        host_bytes: Of an array copied between host and device.
        calls: Launches in a row that fit into the queue (about 1024).
        rounds: Repetitions whose median counts.
        graph: Kernels of a graph.
    """

    copy_bytes: int = 1 << 30
    products: tuple[int, ...] = (8192, 4096)
    host_bytes: int = 1 << 28
    calls: int = 500
    rounds: int = 15
    graph: int = 1000


@dataclass(frozen=True)
class HostCosts:
    """Host time, us; None where it cannot be measured here.

    Attributes:
        launch: A launch with no operator around it.
        op: An addition to 1,000 numbers, no gradient asked for.
        op_grad: The same where autograd records it.
        graph_node: A kernel of a CUDA graph, device time.
        synchronize: A small operator and a wait for the device.
        item: Reading one value of an idle device.
    """

    launch: float | None
    op: float
    op_grad: float
    graph_node: float | None
    synchronize: float
    item: float

    @property
    def launch_bound_below(self) -> float:
        """Kernels shorter than this, us, leave the device waiting for the host."""
        return self.op


@dataclass(frozen=True)
class DeviceReach:
    """Everything measured.

    Attributes:
        measured: The ceilings, as they are stored.
        cuda: Version of CUDA or ROCm.
        transfers: GB/s between host and device: ``h2d_pinned``, ``h2d_pageable``, ``d2h_pinned``,
            ``d2h_pageable``.
        host: What the host pays.
        shapes: Side of the product that gave each rate.
    """

    measured: MeasuredCeilings
    cuda: str
    transfers: dict[str, float]
    host: HostCosts
    shapes: dict[str, int] = field(default_factory=dict)


def require_device() -> None:
    """Find out whether there is anything to measure.

    Raises:
        CannotTellError: torch is not installed, or sees no device.
    """
    if not has_cuda():
        raise CannotTellError("no CUDA device: torch sees none here, so nothing was measured")


def measure_device(sizes: Sizes | None = None) -> DeviceReach:
    """Measure the current CUDA device of torch; takes some ten seconds."""
    properties = torch().cuda.get_device_properties(torch().cuda.current_device())
    found = measure_on(CudaMachine(), "cuda", sizes or fitting(properties.total_memory))
    rates, shapes = found.products
    return DeviceReach(
        measured=MeasuredCeilings(
            key=device_key(
                properties.name, properties.total_memory, properties.multi_processor_count
            ),
            memory_gbs=found.copy_gbs,
            peak_tflops=rates,
            torch=str(torch().__version__),
        ),
        cuda=str(torch().version.cuda or torch().version.hip or ""),
        transfers=found.transfers,
        host=found.host,
        shapes=shapes,
    )


def fitting(memory_bytes: int) -> Sizes:
    """Sizes that leave room on a device of so much memory."""
    usual = Sizes()
    return Sizes(
        copy_bytes=min(usual.copy_bytes, memory_bytes // 8),
        host_bytes=min(usual.host_bytes, memory_bytes // 16),
    )


@dataclass(frozen=True)
class Found:
    """What one machine showed."""

    copy_gbs: float
    products: tuple[dict[str, float], dict[str, int]]
    transfers: dict[str, float]
    host: HostCosts


def measure_on(machine: Machine, device: str, sizes: Sizes) -> Found:
    """All measurements, on any machine that torch can address."""
    return Found(
        copy_gbs=copy_bandwidth(machine, device, sizes),
        products=product_rates(machine, device, sizes),
        transfers=transfer_rates(machine, device, sizes),
        host=host_costs(machine, device, sizes),
    )


# --- Device ---------------------------------------------------------------------------------------


def copy_bandwidth(machine: Machine, device: str, sizes: Sizes) -> float:
    """GB/s of a copy within device memory; what is read and what is written both count."""
    source = torch().ones(sizes.copy_bytes // 4, device=device)
    target = torch().empty_like(source)
    ns = kernel_ns(lambda: target.copy_(source), machine)
    return 2 * source.numel() * source.element_size() / ns


def product_rates(
    machine: Machine, device: str, sizes: Sizes
) -> tuple[dict[str, float], dict[str, int]]:
    """TFLOP/s of square products by element type, the best of the sizes, and that size."""
    rates: dict[str, float] = {}
    shapes: dict[str, int] = {}
    for name in _types(device):
        for side in sizes.products:
            with _precision("high" if name == "tf32" else "highest"):
                rate = _product_rate(machine, device, name, side)
            if rate is not None and rate > rates.get(name, 0.0):
                rates[name], shapes[name] = rate, side
    return rates, shapes


def _types(device: str) -> tuple[str, ...]:
    """Element types that the matrix unit of the device takes, and float32."""
    if device == "cpu":
        return ("float32",)
    if torch().version.hip is not None:
        return ("float32", "float16", "bfloat16")
    capability = torch().cuda.get_device_capability()
    names = ["float32", "float16"]
    names += ["bfloat16", "tf32"] if capability >= HALF_CAPABILITY else []
    names += ["float8"] if capability >= FP8_CAPABILITY else []
    return tuple(names)


@contextmanager
def _precision(wanted: str) -> Iterator[None]:
    """float32 products with or without TF32, as it was before afterwards."""
    before = torch().get_float32_matmul_precision()
    torch().set_float32_matmul_precision(wanted)
    try:
        yield
    finally:
        torch().set_float32_matmul_precision(before)


def _product_rate(machine: Machine, device: str, name: str, side: int) -> float | None:
    """TFLOP/s; None where torch has no such product here, or it takes too long."""
    try:
        call = _product(device, name, side)
        call()
        machine.synchronize()
        if once_ns(call, machine) > LONGEST_NS:
            return None
        return float(2 * side**3 / kernel_ns(call, machine) / 1e3)
    except (RuntimeError, TypeError, AttributeError):
        return None


def _product(device: str, name: str, side: int) -> Call:
    kinds = {"tf32": "float32", "float8": "bfloat16"}
    kind = getattr(torch(), kinds.get(name, name))
    a, b = (torch().randn(side, side, device=device, dtype=kind) for _ in range(2))
    if name == "float8":
        return _scaled_product(a, b, device)
    out = torch().empty_like(a)
    return lambda: torch().mm(a, b, out=out)


def _scaled_product(a: Any, b: Any, device: str) -> Call:  # noqa: ANN401 -- tensors
    small = torch().float8_e4m3fn
    one = torch().ones((), device=device)
    left, right = a.to(small), b.to(small).t()
    return lambda: torch()._scaled_mm(  # noqa: SLF001 -- torch has no public name for it
        left, right, scale_a=one, scale_b=one, out_dtype=torch().bfloat16
    )


def kernel_ns(call: Call, machine: Machine) -> float:
    """Device time of a call in a queue that is full: of the fastest tenth, the slowest."""
    began = machine.now_ns()
    while machine.now_ns() - began < WARM_UP_NS:
        call()
        machine.synchronize()
    count = round(ROUND_NS / max(once_ns(call, machine), 1.0))
    machine.hold(HOLD_NS)
    marks = [machine.mark()]
    for _ in range(min(max(count, FEWEST), MOST)):
        call()
        marks.append(machine.mark())
    machine.synchronize()
    taken = sorted(machine.between_ns(first, second) for first, second in pairwise(marks))
    return taken[len(taken) // FASTEST]


def once_ns(call: Call, machine: Machine) -> float:
    """Host time of one call from an idle device to an idle device."""
    machine.synchronize()
    begin = machine.now_ns()
    call()
    machine.synchronize()
    return float(machine.now_ns() - begin)


def transfer_rates(machine: Machine, device: str, sizes: Sizes) -> dict[str, float]:
    """GB/s between host and device, from pinned and from pageable memory, both ways."""
    pageable = torch().ones(sizes.host_bytes // 4)
    on_device = torch().empty_like(pageable, device=device)
    pinned = pageable if device == "cpu" else pageable.pin_memory()
    copies: dict[str, Call] = {
        "h2d_pinned": lambda: on_device.copy_(pinned, non_blocking=True),
        "h2d_pageable": lambda: on_device.copy_(pageable),
        "d2h_pinned": lambda: pinned.copy_(on_device, non_blocking=True),
        "d2h_pageable": lambda: pageable.copy_(on_device),
    }
    size = pageable.numel() * pageable.element_size()
    return {name: size / _repeated(call, machine, sizes.rounds) for name, call in copies.items()}


def _repeated(call: Call, machine: Machine, rounds: int) -> float:
    """Median ns from idle to idle, after a first round that does not count."""
    return median([once_ns(call, machine) for _ in range(rounds + 1)][1:])


# --- Host -----------------------------------------------------------------------------------------


def host_costs(machine: Machine, device: str, sizes: Sizes) -> HostCosts:
    """What the host pays for the smallest things."""
    value = torch().ones(1000, device=device)
    leaf = torch().ones(1000, device=device, requires_grad=True)
    one = torch().ones((), device=device)
    spin = getattr(torch().cuda, "_sleep", None) if device != "cpu" else None

    def add_and_wait() -> None:
        value.add_(1)
        machine.synchronize()

    bare = None if spin is None else _submit_us(lambda: spin(1), machine, sizes)
    return HostCosts(
        launch=bare,
        op=_submit_us(lambda: value + 1, machine, sizes),
        op_grad=_submit_us(lambda: leaf + 1, machine, sizes),
        graph_node=None if device == "cpu" else _graph_node_us(value, machine, sizes),
        synchronize=_waiting_us(add_and_wait, machine, sizes),
        item=_waiting_us(one.item, machine, sizes),
    )


def _waiting_us(call: Call, machine: Machine, sizes: Sizes) -> float:
    """Median host us of a call that waits for the device itself, from an idle device."""
    rounds = []
    for _ in range(4 * sizes.rounds + 1):
        machine.synchronize()
        begin = machine.now_ns()
        call()
        rounds.append(machine.now_ns() - begin)
    return median(rounds[1:]) / NS_PER_US


def _submit_us(call: Call, machine: Machine, sizes: Sizes) -> float:
    """Host us a call, from an empty queue, without waiting for the device."""
    rounds = []
    for _ in range(sizes.rounds + 1):
        machine.synchronize()
        begin = machine.now_ns()
        for _ in range(sizes.calls):
            call()
        rounds.append((machine.now_ns() - begin) / sizes.calls)
    machine.synchronize()
    return median(rounds[1:]) / NS_PER_US


def _graph_node_us(value: Any, machine: Machine, sizes: Sizes) -> float | None:  # noqa: ANN401 -- a tensor
    """Device time a node of a graph of small kernels; None where graphs cannot be captured."""
    try:
        graph = torch().cuda.CUDAGraph()
        machine.synchronize()
        with torch().cuda.graph(graph):
            for _ in range(sizes.graph):
                value.add_(1)
        ns = kernel_ns(graph.replay, machine)
    except RuntimeError:
        return None
    return ns / sizes.graph / NS_PER_US
