"""What a device attains: the arithmetic on a device of known speed, and all on a small CPU."""

from contextlib import contextmanager
from types import SimpleNamespace

import pytest

from boundby.bench import ceilings
from boundby.bench.ceilings import (
    HostCosts,
    Sizes,
    fitting,
    host_costs,
    kernel_ns,
    measure_device,
    measure_on,
    product_rates,
    require_device,
)
from boundby.bench.machine import HostMachine
from boundby.errors import CannotTellError

SMALL = Sizes(
    copy_bytes=1 << 16, products=(32, 16), host_bytes=1 << 14, calls=10, rounds=3, graph=5
)


class Device:
    """A device with a queue: a call takes 5 us to submit and 1000 us to run."""

    has_device = True
    submit, kernel = 5_000, 1_000_000

    def __init__(self):
        self.now, self.free, self.held, self.calls = 0, 0, 0, 0

    def now_ns(self):
        return self.now

    def synchronize(self):
        self.now = max(self.now, self.free)

    def mark(self):
        return max(self.now, self.free)

    def between_ns(self, first, second):
        return float(second - first)

    def hold(self, ns):
        self.held += 1
        self.free = max(self.now, self.free) + ns

    def empty_cache(self):
        raise AssertionError

    def call(self):
        self.calls += 1
        self.now += self.submit
        self.free = max(self.now, self.free) + self.kernel


def test_a_kernel_is_timed_in_a_full_queue():
    device = Device()

    assert kernel_ns(device.call, device) == 1_000_000
    assert device.held == 1


def test_a_ceiling_is_what_the_fastest_tenth_reaches():
    device = Device()
    device.kernel = 3_000_000

    def slowing():
        device.kernel += 10_000
        device.call()

    first = kernel_ns(slowing, device)
    assert first < device.kernel - 40 * 10_000


@pytest.mark.parametrize(("kernel", "samples"), [(1_000, 50), (10_000_000, 15), (10**9, 5)])
def test_long_kernels_are_sampled_less(kernel, samples):
    device = Device()
    device.kernel = kernel
    warm = max(-(-ceilings.WARM_UP_NS // (kernel + device.submit)), 1)
    kernel_ns(device.call, device)

    assert device.calls == pytest.approx(warm + 1 + samples, abs=1)


def test_everything_on_a_small_cpu():
    found = measure_on(HostMachine(), "cpu", SMALL)
    rates, sides = found.products

    assert found.copy_gbs > 0
    assert set(rates) == set(sides) == {"float32"}
    assert rates["float32"] > 0
    assert sides["float32"] in SMALL.products
    assert set(found.transfers) == {"h2d_pinned", "h2d_pageable", "d2h_pinned", "d2h_pageable"}
    assert all(rate > 0 for rate in found.transfers.values())


def test_a_host_without_a_device_launches_nothing():
    costs = host_costs(HostMachine(), "cpu", SMALL)

    assert (costs.launch, costs.graph_node) == (None, None)
    assert min(costs.op, costs.op_grad, costs.synchronize, costs.item) > 0


def test_kernels_shorter_than_an_operator_leave_the_device_waiting():
    assert HostCosts(3.0, 6.0, 9.0, 1.0, 20.0, 18.0).launch_bound_below == 6.0


def test_a_product_that_torch_does_not_have_is_left_out(monkeypatch):
    monkeypatch.setattr(ceilings, "_types", lambda _: ("float32", "float8"))
    monkeypatch.setattr(ceilings, "_scaled_product", refuse)

    assert set(product_rates(HostMachine(), "cpu", SMALL)[0]) == {"float32"}


def test_scaled_products_are_made_of_eight_bits():
    import torch

    a = torch.ones(16, 16, dtype=torch.bfloat16)
    call = ceilings._scaled_product(a, a, "cpu")
    try:
        result = call()
    except RuntimeError as refused:  # a processor without such a product
        pytest.skip(str(refused))

    assert result.dtype == torch.bfloat16
    assert float(result[0, 0]) == 16


def refuse(*_):
    raise RuntimeError("not on this device")


def test_products_that_take_too_long_are_left_out(monkeypatch):
    monkeypatch.setattr(ceilings, "LONGEST_NS", -1)

    assert product_rates(HostMachine(), "cpu", SMALL) == ({}, {})


def test_the_precision_of_the_program_is_put_back():
    import torch

    before = torch.get_float32_matmul_precision()
    with ceilings._precision("medium"):
        assert torch.get_float32_matmul_precision() == "medium"

    assert torch.get_float32_matmul_precision() == before


@pytest.mark.parametrize(
    ("capability", "hip", "types"),
    [
        ((7, 5), None, {"float32", "float16"}),
        ((8, 0), None, {"float32", "float16", "bfloat16", "tf32"}),
        ((9, 0), None, {"float32", "float16", "bfloat16", "tf32", "float8"}),
        ((9, 4), "6.2", {"float32", "float16", "bfloat16"}),
    ],
)
def test_only_types_that_the_matrix_unit_takes_are_measured(monkeypatch, capability, hip, types):
    monkeypatch.setattr(ceilings, "torch", lambda: fake_torch(capability, hip))

    assert set(ceilings._types("cuda")) == types


def fake_torch(capability=(9, 0), hip=None, **cuda):
    return SimpleNamespace(
        __version__="2.11.0",
        version=SimpleNamespace(cuda=None if hip else "13.0", hip=hip),
        cuda=SimpleNamespace(get_device_capability=lambda: capability, **cuda),
    )


def test_a_small_device_gets_small_arrays():
    assert fitting(141 << 30) == Sizes()
    assert (fitting(1 << 30).copy_bytes, fitting(1 << 30).host_bytes) == (1 << 27, 1 << 26)


def test_without_a_device_nothing_is_measured(monkeypatch):
    monkeypatch.setattr(ceilings, "has_cuda", lambda: False)

    with pytest.raises(CannotTellError, match="no CUDA device"):
        require_device()


def test_what_is_measured_is_named_after_the_kind_of_device(monkeypatch):
    monkeypatch.setattr(ceilings, "has_cuda", lambda: True)
    properties = SimpleNamespace(
        name="NVIDIA H200", total_memory=150109880320, multi_processor_count=132, uuid="secret"
    )
    made = fake_torch(get_device_properties=lambda _: properties, current_device=lambda: 0)
    monkeypatch.setattr(ceilings, "torch", lambda: made)
    costs = HostCosts(3.0, 6.0, 9.0, 1.0, 20.0, 18.0)
    found = ceilings.Found(4220.0, ({"bfloat16": 759.0}, {"bfloat16": 8192}), {}, costs)
    monkeypatch.setattr(ceilings, "measure_on", lambda *_: found)
    require_device()
    reach = measure_device()

    assert reach.measured.key.file_name == "nvidia-h200-140gib-132.json"
    assert (reach.measured.memory_gbs, reach.measured.torch, reach.cuda) == (4220, "2.11.0", "13.0")
    assert "secret" not in repr(reach)


def test_a_graph_that_cannot_be_captured_has_no_nodes(monkeypatch):
    @contextmanager
    def graph(_):
        raise RuntimeError("cannot capture")
        yield

    made = fake_torch(CUDAGraph=object, graph=graph)
    monkeypatch.setattr(ceilings, "torch", lambda: made)

    assert ceilings._graph_node_us(None, Device(), SMALL) is None


@pytest.mark.gpu
def test_on_a_device():
    reach = measure_device(Sizes(copy_bytes=1 << 28, products=(4096,), host_bytes=1 << 26))

    assert reach.measured.memory_gbs > 100
    assert reach.measured.peak_tflops["float32"] > 1
    assert reach.host.launch < reach.host.op < 1.2 * reach.host.op_grad
    assert reach.transfers["h2d_pinned"] > reach.transfers["h2d_pageable"]
