"""Signs of copies, loading, layout, debug switches and the driver's allocator."""

import pytest

from boundby.evidence.layout import operands_fight
from boundby.evidence.signs import find_signs
from boundby.roofline.arguments import Tensor
from builders import Trace
from steps import ELEMENTWISE, SGEMM, Op, Range, one_by_one, repeated
from worlds import timeline_of

BACKWARD = "autograd::engine::evaluate_function: MmBackward0"
PAGEABLE = "Memcpy HtoD (Pageable -> Device)"
PINNED = "Memcpy HtoD (Pinned -> Device)"
TO_HOST = "Memcpy DtoH (Device -> Pageable)"
MIB = 1 << 20


def mm(us=5, **args):
    return Op("aten::mm", SGEMM, us, **args)


def copy(direction, size=MIB, us=20):
    return Op("aten::copy_", direction, us, call="cudaMemcpyAsync", size=size)


# --- Copies


def test_copies_are_told_apart_by_direction_and_memory():
    work = [copy(PAGEABLE), copy(PINNED, us=10), copy(PINNED, us=10), copy(TO_HOST), mm()]
    uploads = find_signs(repeated(*work)).uploads

    assert (uploads.pageable, uploads.pinned, uploads.to_host) == (1, 2, 1)
    assert uploads.pageable_ms == pytest.approx(0.020)
    assert uploads.pinned_ms == pytest.approx(0.020)
    assert uploads.to_host_ms == pytest.approx(0.020)


def test_a_few_bytes_are_no_batch():
    uploads = find_signs(repeated(copy(PAGEABLE, size=8), copy(TO_HOST, size=4), mm())).uploads

    assert (uploads.small, uploads.pageable, uploads.to_host) == (1, 0, 0)


def test_tensors_built_from_python_values_are_counted():
    assert find_signs(repeated(Op("aten::lift_fresh"), mm())).uploads.built == 1


def test_the_optimizer_counting_its_own_steps_is_not_the_programs():
    update = Range("Optimizer.step#Adam.step", Op("aten::lift_fresh"), mm())

    assert find_signs(repeated(mm(), update)).uploads.built == 0


def test_copies_alone_have_no_kernel_beside_them():
    trace = Trace()
    trace.step(1, 0, 1000)
    call = trace.launch(10, name="cudaMemcpyAsync")
    trace.copy(100, 100, launch=call, size=MIB, direction="HtoD (Pinned -> Device)", stream=20)
    trace.submit(SGEMM, 20, start=150, dur=200)

    assert find_signs(timeline_of(trace)).uploads.alone_share == pytest.approx(0.5)
    assert find_signs(repeated(mm())).uploads.alone_share is None


# --- Loading


def loader(kind="_MultiProcessingDataLoaderIter"):
    return f"enumerate(DataLoader)#{kind}.__next__"


def waiting(waits, kind="_MultiProcessingDataLoaderIter"):
    """Steps of 1,000 us that begin with a wait for a batch."""
    trace = Trace()
    for number, wait in enumerate(waits):
        begin = 1000 * number
        trace.step(number + 1, begin, 1000)
        trace.range(loader(kind), begin + 1, wait)
        trace.submit(SGEMM, begin + 900, start=begin + 910, dur=5)
    return trace


def test_waits_for_batches_are_measured():
    loading = find_signs(timeline_of(waiting([10, 10, 500, 10]))).loading

    assert loading.in_process is False
    assert (loading.wait_ms, loading.longest_ms) == (0.010, 0.500)
    assert loading.late_share == 0.25
    assert loading.restarts is None


@pytest.mark.parametrize(
    ("iterator", "in_process"),
    [
        ("_SingleProcessDataLoaderIter", True),
        ("_MultiProcessingDataLoaderIter", False),
        ("MyOwnDataLoader", None),
    ],
)
def test_the_iterator_tells_who_loads(iterator, in_process):
    assert find_signs(timeline_of(waiting([10], iterator))).loading.in_process is in_process


def test_workers_that_start_are_seen_in_frames():
    trace = waiting([10])
    for at in (100, 200):
        trace.frame("multiprocessing/process.py(121): start", at, 50)

    assert find_signs(timeline_of(trace)).loading.restarts == 2


def test_without_a_loader_nothing_is_said_of_it():
    assert find_signs(repeated(mm())).loading.wait_ms is None


# --- Layout

ROWS, COLUMNS = [4096, 1], [1, 4096]
SQUARE = [4096, 4096]


def plus(*strides, us=60, dims=None):
    dims = dims or [SQUARE] * len(strides)
    return Op(
        "aten::add", ELEMENTWISE, us, dims=dims, types=["float"] * len(dims), strides=[*strides]
    )


def test_two_operands_across_each_other_fight():
    layout = find_signs(repeated(plus(ROWS, COLUMNS), mm(20))).layout

    assert layout.fighting == pytest.approx(0.75)
    assert layout.fights == 1


@pytest.mark.parametrize(
    "operator",
    [
        pytest.param(plus(COLUMNS, [], dims=[SQUARE, []]), id="one transposed operand alone"),
        pytest.param(plus(COLUMNS, COLUMNS), id="both transposed"),
        pytest.param(plus(ROWS, [1], dims=[SQUARE, [4096]]), id="a broadcast row"),
        pytest.param(plus(ROWS, [1, 0], dims=[SQUARE, [4096, 4096]]), id="an expanded column"),
        pytest.param(plus([64, 1], [1, 64], dims=[[64, 64], [64, 64]]), id="small"),
        pytest.param(
            Op("aten::copy_", ELEMENTWISE, dims=[SQUARE] * 2, types=["float"] * 2,
               strides=[ROWS, COLUMNS]),
            id="the copy that cures it",
        ),
    ],
)  # fmt: skip
def test_what_does_not_fight(operator):
    assert find_signs(repeated(operator, mm(), plus(ROWS, ROWS))).layout.fighting == 0


def test_images_in_two_layouts_fight():
    first = Tensor((32, 64, 56, 56), "float32", (200704, 3136, 56, 1))
    last = Tensor((32, 64, 56, 56), "float32", (200704, 1, 3584, 64))

    assert operands_fight([first, last])
    assert not operands_fight([last, last])


def test_strides_that_were_not_recorded_tell_nothing():
    without = Op("aten::add", ELEMENTWISE, dims=[SQUARE] * 2, types=["float"] * 2)

    assert find_signs(repeated(without)).layout.fighting is None


def test_a_copy_pays_from_the_uses_that_save_what_it_costs():
    # Twice as slow: each use saves half of its time, and the copy takes two thirds of it.
    slow, fast = plus(ROWS, COLUMNS, us=100), plus(ROWS, ROWS, us=50)
    assert find_signs(repeated(slow, mm(), fast)).layout.pays_from == pytest.approx(4 / 3)

    assert find_signs(repeated(slow)).layout.pays_from is None
    no_slower = plus(ROWS, COLUMNS, us=50)
    assert find_signs(repeated(no_slower, mm(), fast)).layout.pays_from is None


def test_arguments_that_cannot_be_read_are_passed_over():
    strange = Op("aten::add", ELEMENTWISE, dims="no dims", strides=[ROWS])

    assert find_signs(repeated(strange, plus(ROWS, ROWS))).layout.fights == 0


def conv(*kernels, groups="1", name="aten::conv2d"):
    concrete = ["", "", "", "[1, 1]", "[0, 0]", "[1, 1]", groups]
    dims = [[8, 64, 56, 56], [64, 64, 3, 3], [], [], [], [], []]
    head = Op([name], dims=dims, concrete=concrete)
    return [head, *(Op(["aten::convolution", "aten::cudnn_convolution"], k, 10) for k in kernels)]


def test_convolutions_and_the_transposing_around_them():
    work = conv("sm80_xmma_fprop_implicit_gemm_f32f32", "cudnn::ops::nchwToNhwcKernel<float>")
    layout = find_signs(repeated(*work, mm(20))).layout

    assert layout.convolutions == pytest.approx(0.5)
    assert layout.transposes == pytest.approx(0.25)
    assert (layout.grouped, layout.autotunes) == (False, False)


def test_groups_are_read_from_the_arguments():
    assert find_signs(repeated(*conv("sgemm", groups="64"))).layout.grouped is True
    assert find_signs(repeated(*conv("sgemm", groups="many"))).layout.grouped is None
    assert find_signs(repeated(mm())).layout.grouped is None


def test_one_convolution_with_many_kernels_is_being_tuned():
    trace = Trace()
    trace.step(1, 0, 2000)
    op = trace.op("aten::cudnn_convolution", 10, 1000)
    for index in range(14):
        at = 20 + 50 * index
        trace.submit(f"sm80_xmma_fprop_{index}", at, start=at + 10, dur=20, op=op)

    assert find_signs(timeline_of(trace)).layout.autotunes is True


# --- Switches


def test_launches_that_wait_for_their_kernels():
    blocking = Op("aten::mm", SGEMM, 5, blocking=True)

    assert find_signs(repeated(*[blocking] * 10)).switches.blocking_launches is True
    assert find_signs(repeated(*[mm()] * 10)).switches.blocking_launches is False
    assert find_signs(repeated(mm())).switches.blocking_launches is None


def test_a_test_for_nan_after_every_gradient():
    tested = [Op([BACKWARD, "aten::mm"], SGEMM), Op([BACKWARD, "aten::isnan"], ELEMENTWISE)]

    assert find_signs(repeated(*tested)).switches.anomaly is True
    assert find_signs(repeated(Op([BACKWARD, "aten::mm"], SGEMM))).switches.anomaly is False
    outside = [Op([BACKWARD, "aten::mm"], SGEMM)] * 3 + [Op("aten::isnan", ELEMENTWISE)] * 3
    assert find_signs(repeated(*outside)).switches.anomaly is False


def test_operators_that_allocate_one_by_one():
    allocates = Op("aten::mm", SGEMM, calls=["cudaMalloc", "cudaFree"])
    signs = find_signs(repeated(*[allocates] * 10))

    assert signs.switches.uncached_memory is True
    assert (signs.allocations.calls, signs.allocations.frees) == (20, 10)
    assert signs.allocations.host_share > 0
    assert find_signs(repeated(*[mm()] * 10)).switches.uncached_memory is False


def test_a_drivers_call_inside_a_runtimes_is_one_allocation():
    trace = Trace()
    trace.step(1, 0, 1000)
    trace.submit(SGEMM, 10, start=20, dur=5)
    trace.call("cudaMalloc", 100, 50)
    trace.call("cuMemCreate", 110, 20, category="cuda_driver")

    assert find_signs(timeline_of(trace)).allocations.calls == 1


def test_the_collector_is_seen_in_frames():
    collecting = one_by_one([mm()], [mm()], frames=["<built-in function collect>"])
    signs = find_signs(collecting).switches

    assert signs.collections == 1
    assert signs.collection_ms == pytest.approx(0.005)
    assert find_signs(repeated(mm(), frames=["train.py(3): step"])).switches.collections == 0
    assert find_signs(repeated(mm())).switches.collections is None
