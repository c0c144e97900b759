"""Device rows joined to operators and held against the roofs, on traces of a few events.

The device is an H200: 4800 bytes a nanosecond, 67 TFLOP/s in float32, 989.5 in bfloat16.
"""

import numpy as np
import pytest

from boundby.read import read_recording
from boundby.read.recording import NONE
from boundby.roofline.devices import match_device
from boundby.roofline.families import Family
from boundby.roofline.kernels import Side, measure_kernels
from boundby.roofline.owners import launching_operators
from boundby.roofline.summaries import by_kernel, by_operator, utilisation
from boundby.roofline.table import CostTable
from builders import Trace

H200 = match_device("NVIDIA H200").ceilings
N = 48_000_000
ADD = {"dims": [[N], [N], []], "types": ["float", "float", "Scalar"], "concrete": ["", "", "1"]}
MM = {"dims": [[4096, 4096], [4096, 4096]], "types": ["c10::BFloat16"] * 2}
CONV = {
    "dims": [[64, 256, 56, 56], [256, 256, 3, 3], [], [], [], [], [], [], []],
    "types": ["float", "float", *["ScalarList"] * 3, *["Scalar"] * 4],
    "concrete": ["", "", "[1, 1]", "[1, 1]", "[1, 1]", "1", "False", "False", "True"],
}
ELEMENTWISE = "void at::native::vectorized_elementwise_kernel<4, CUDAFunctor_add<float>>"


@pytest.fixture
def read(tmp_path):
    return lambda trace: read_recording(trace.write(tmp_path / "trace.json"))


def measured(recording, ceilings=H200):
    return measure_kernels(recording, np.arange(len(recording.device)), ceilings)


def test_a_kernel_belongs_to_the_innermost_operator_around_its_launch(read):
    trace = Trace()
    trace.op("aten::linear", 0, 100)
    trace.op("aten::t", 5, 10)
    trace.op("aten::addmm", 20, 60)
    trace.submit("gemm", 30, start=200, dur=10)
    trace.submit("bias", 85, start=220, dur=5)  # after addmm, still in linear
    trace.submit("loose", 120, start=240, dur=5)  # in no operator
    recording = read(trace)
    names = [
        None if row == NONE else recording.names[recording.host.name[row]]
        for row in launching_operators(recording)
    ]

    assert names == ["aten::addmm", "aten::linear", None]


def test_an_operator_on_another_thread_owns_nothing(read):
    trace = Trace()
    trace.op("aten::mul", 0, 100, thread=2)
    trace.submit("kernel", 10, start=200, dur=10)

    assert launching_operators(read(trace)).tolist() == [NONE]


def test_a_row_without_a_launch_has_no_operator(read):
    trace = Trace()
    trace.op("aten::mul", 0, 100)
    trace.submit("late", 10, start=200, dur=10)
    trace.kernel("early", at=50, dur=10)  # of an earlier step: its launch was not recorded

    assert launching_operators(read(trace))[0] == NONE


def test_no_calls_at_all(read):
    trace = Trace()
    trace.op("aten::mul", 0, 100)
    trace.kernel("kernel", at=50, dur=10)

    assert launching_operators(read(trace)).tolist() == [NONE]


def test_deeply_nested_operators(read):
    trace = Trace()
    for depth in range(40):
        trace.op(f"outer_{depth}", depth, 1000 - 2 * depth)
        trace.op("aten::view", depth + 0.2, 0.1)
    trace.submit("inner", 100, start=2000, dur=1)
    trace.submit("outer", 997, start=2010, dur=1)  # 5 us long: its middle is in the first alone
    recording = read(trace)
    owners = launching_operators(recording)

    assert recording.names[recording.host.name[owners[0]]] == "outer_39"
    assert recording.names[recording.host.name[owners[1]]] == "outer_0"


def test_an_elementwise_kernel(read):
    trace = Trace()
    op = trace.op("aten::add", 0, 20, **ADD)
    trace.submit(ELEMENTWISE, 5, start=30, dur=150, op=op)  # 12 N bytes need 120 us
    roofs = measured(read(trace))

    assert roofs.bytes.tolist() == [12 * N]
    assert roofs.flops.tolist() == [N]
    assert roofs.floor_ns[0] == pytest.approx(120_000)
    assert roofs.side.tolist() == [Side.MEMORY]
    assert roofs.family.tolist() == [Family.ELEMENTWISE]
    assert roofs.fills.tolist() == [True]
    assert len(roofs) == 1


def test_kernels_of_one_operator_share_its_roof(read):
    """The convolution carries the operations, the layout changes around it share the floor."""
    trace = Trace()
    op = trace.op("aten::cudnn_convolution", 0, 50, **CONV)
    trace.submit("void cudnn::ops::nchwToNhwcKernel<float, float>", 5, start=60, dur=100, op=op)
    main = "sm90_xmma_fprop_implicit_gemm_f32f32_tf32f32_f32_nhwckrsc_nhwc"
    trace.submit(main, 15, start=170, dur=700, op=op)
    roofs = measured(read(trace))
    [run] = roofs.runs
    flops = 2 * 64 * 56 * 56 * 256 * 256 * 9

    assert run.main == main
    assert run.duration_ns == 800_000
    assert (run.cost.flops, run.placement.peak) == (flops, "tf32")
    assert np.isnan(roofs.flops[0])
    assert roofs.flops[1] == flops
    assert roofs.side.tolist() == [Side.COMPUTE, Side.COMPUTE]
    assert roofs.floor_ns.sum() == pytest.approx(run.placement.floor_ns)
    assert roofs.floor_ns[0] == pytest.approx(roofs.floor_ns[1] / 7)


def test_without_shapes_the_family_decides(read):
    trace = Trace()
    trace.op("aten::mm", 0, 20)
    trace.submit("volta_sgemm_128x64_nn", 5, start=30, dur=10)
    trace.submit("ncclDevKernel_AllReduce_Sum_f32_RING_LL", 25, start=50, dur=10)
    trace.submit("something_else", 35, start=70, dur=10)
    roofs = measured(read(trace))

    assert roofs.side.tolist() == [Side.COMPUTE, Side.COMMUNICATION, Side.OTHER]
    assert np.isnan(roofs.floor_ns).all()
    assert roofs.fills.all()
    assert roofs.uncounted() == {"aten::mm": 10_000}
    assert roofs.unruled() == {}


def test_an_operator_without_a_rule_is_listed(read):
    trace = Trace()
    trace.op("mylib::fancy", 0, 20, dims=[[4, 4]], types=["float"])
    trace.submit("fancy_kernel", 5, start=30, dur=10)
    trace.op("c10d::allreduce_", 20, 20, dims=[[4, 4]], types=["float"])
    trace.submit("ncclDevKernel_AllReduce", 25, start=50, dur=10)
    roofs = measured(read(trace))

    assert roofs.uncounted() == roofs.unruled() == {"mylib::fancy": 10_000}


def test_a_container_that_launches_kernels_itself_is_uncounted(read):
    trace = Trace()
    trace.op("CompiledFunction", 0, 20)
    trace.submit("triton__0d1d2d3d", 5, start=30, dur=10)
    roofs = measured(read(trace))

    assert roofs.uncounted() == {"CompiledFunction": 10_000}
    assert roofs.side.tolist() == [Side.MEMORY]


def test_kernels_of_a_graph_have_no_operator(read):
    trace = Trace()
    launch = trace.launch(5, name="cudaGraphLaunch")
    trace.kernel("volta_sgemm_128x64_nn", at=20, dur=10, launch=launch)
    trace.kernel(ELEMENTWISE, at=30, dur=10, launch=launch)
    roofs = measured(read(trace))

    assert roofs.side.tolist() == [Side.COMPUTE, Side.MEMORY]
    assert roofs.runs == ()


def test_copies_and_memsets_carry_their_size(read):
    trace = Trace()
    for at, kind in ((5, "HtoD (Pageable -> Device)"), (15, "DtoD (Device -> Device)")):
        call = trace.launch(at, name="cudaMemcpyAsync")
        trace.copy(at + 100, 10, launch=call, direction=kind, size=4_800_000)
    trace.memset(150, 10, launch=trace.launch(25, name="cudaMemsetAsync"), size=4_800_000)
    roofs = measured(read(trace))

    assert roofs.side.tolist() == [Side.COPY, Side.MEMORY, Side.MEMORY]
    assert np.isnan(roofs.bytes[0])
    assert roofs.bytes[1:].tolist() == [9_600_000, 4_800_000]
    assert roofs.floor_ns[1:].tolist() == [2_000, 1_000]
    assert roofs.time_by_side()[Side.MEMORY] == 20_000


def test_an_unknown_device_leaves_floors_unknown_and_work_counted(read):
    trace = Trace()
    op = trace.op("aten::add", 0, 20, **ADD)
    trace.submit(ELEMENTWISE, 5, start=30, dur=150, op=op)
    roofs = measured(read(trace), ceilings=None)

    assert roofs.bytes.tolist() == [12 * N]
    assert np.isnan(roofs.floor_ns).all()
    assert roofs.runs[0].placement is None
    assert by_operator(roofs)[0].lost_ns is None
    assert utilisation(roofs, 1_000_000).memory is None


def test_small_kernels_fill_no_roof(read):
    trace = Trace()
    op = trace.op("aten::add", 0, 20, dims=[[64], [64], []], types=["float", "float", "Scalar"])
    trace.submit(ELEMENTWISE, 5, start=30, dur=2, op=op)

    assert measured(read(trace)).fills.tolist() == [False]


def test_no_rows(read):
    trace = Trace()
    trace.op("aten::add", 0, 20)
    roofs = measured(read(trace))

    assert len(roofs) == 0
    assert roofs.uncounted() == {}


def test_costs_are_worked_out_once_a_distinct_call(read, monkeypatch):
    from boundby.roofline import table

    trace = Trace()
    for at in range(0, 500, 50):
        op = trace.op("aten::add", at, 20, **ADD)
        trace.submit(ELEMENTWISE, at + 5, start=1000 + at, dur=10, op=op)
    recording = read(trace)
    asked = []
    monkeypatch.setattr(table, "cost_of", lambda *call: asked.append(call))
    rows = np.flatnonzero(recording.host.signature != NONE)
    costs = CostTable(recording)

    assert len(costs.costs(rows)) == len(rows) == 10
    assert len(asked) == 1


def test_columns_of_the_table(read):
    trace = Trace()
    trace.op("aten::add", 0, 20, **ADD)
    trace.op("aten::unheard", 30, 20)
    table = CostTable(read(trace))
    rows = np.array([0, 1])

    assert table.flops(rows)[0] == N
    assert table.bytes(rows)[0] == 12 * N
    assert np.isnan(table.flops(rows)[1])
    assert np.isnan(table.bytes(rows)[1])


# --- Added up -------------------------------------------------------------------------------------


def product_and_sum(read):
    trace = Trace()
    for at in (0, 100):
        op = trace.op("aten::mm", at, 20, **MM)
        trace.submit("nvjet_sm90_tst_256x128", at + 5, start=1000 + 20 * at, dur=200, op=op)
    op = trace.op("aten::add", 200, 20, **ADD)
    trace.submit(ELEMENTWISE, 205, start=9000, dur=150, op=op)
    trace.op("mylib::fancy", 300, 20)
    trace.submit("fancy", 305, start=9500, dur=50)
    return measured(read(trace))


def test_operators_added_up(read):
    product, add, fancy = by_operator(product_and_sum(read))

    assert (product.name, product.count, product.ns) == ("aten::mm", 2, 400_000)
    assert product.flops == 2 * 2 * 4096**3
    assert product.tflops == pytest.approx(687.2, abs=0.1)
    assert product.intensity == pytest.approx(4096 / 3)
    assert product.limited_by == "compute"
    assert product.lost_ns == pytest.approx(400_000 - 2 * 2 * 4096**3 / 989.5e12 * 1e9)
    assert (add.name, add.limited_by) == ("aten::add", "memory")
    assert add.gbs == pytest.approx(3840)
    assert (fancy.flops, fancy.tflops, fancy.gbs, fancy.intensity) == (None, None, None, None)
    assert (fancy.counted_ns, fancy.limited_by) == (0, "unknown")


def test_kernels_added_up(read):
    lines = {line.name: line for line in by_kernel(product_and_sum(read))}

    assert lines["nvjet_sm90_tst_256x128"].count == 2
    assert lines["nvjet_sm90_tst_256x128"].tflops == pytest.approx(687.2, abs=0.1)
    assert lines[ELEMENTWISE].limited_by == "memory"
    assert lines["fancy"].bytes is None
    assert lines["fancy"].lost_ns is None


def test_use_of_the_peaks_over_a_span(read):
    use = utilisation(product_and_sum(read), 1_000_000)

    assert use.flops == 4 * 4096**3
    assert use.compute == pytest.approx(4 * 4096**3 / 989.5e12 / 1e-3)
    assert use.memory == pytest.approx((12 * N + 2 * 3 * 2 * 4096**2) / 4800 / 1e6)


def test_no_span_no_use(read):
    use = utilisation(product_and_sum(read), 0)

    assert (use.compute, use.memory) == (None, None)
