"""Who owns each instant of the host line."""

import numpy as np
import pytest

from boundby.timeline.hostline import LineKind
from boundby.timeline.measure import measure_host
from builders import Trace
from worlds import LOADER, World, timeline_of


def line(trace, until=100):
    """Microseconds by kind in ``[0, until)``, kinds without time left out.

    A wait and the operator that carries it are one here.
    """
    window = np.array([0]), np.array([until * 1000])
    times = zip(LineKind, timeline_of(trace).line.time_by_kind(*window)[0], strict=True)
    found = {kind.name: int(time) // 1000 for kind, time in times if time}
    waits = found.pop("SYNC", 0) + found.pop("CARRIER", 0)
    return found | ({"WAIT": waits} if waits else {})


@pytest.fixture
def trace():
    """A step of 100 us whose last 10 us hold one operator and its launch."""
    trace = Trace()
    trace.step(1, at=0, dur=100)
    op = trace.op("aten::mul", at=90, dur=10)
    trace.submit("kernel", at=92, start=101, dur=5, op=op)
    return trace


LAST_TEN = {"OP": 5, "LAUNCH": 5}


def test_what_nothing_covers_is_python(trace):
    assert line(trace) == {"PYTHON": 90, **LAST_TEN}


def test_a_range_is_no_work_by_itself(trace):
    trace.range("forward", at=10, dur=70)

    assert line(trace) == {"PYTHON": 90, **LAST_TEN}


def test_a_query_inside_no_operator_is_part_of_the_operators(trace):
    trace.call("cudaFuncGetAttributes", at=10, dur=20)

    assert line(trace) == {"PYTHON": 70, "OP": 25, "LAUNCH": 5}


def test_nested_operators_count_once(trace):
    trace.op("aten::linear", at=10, dur=40)
    trace.op("aten::addmm", at=20, dur=20)

    assert line(trace) == {"PYTHON": 50, "OP": 45, "LAUNCH": 5}


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("cudaDeviceSynchronize", "WAIT"),
        ("hipStreamSynchronize", "WAIT"),
        ("cudaEventSynchronize", "WAIT"),
        ("cudaMemcpy", "WAIT"),
        ("cudaMalloc", "ALLOCATOR"),
        ("cudaFree", "ALLOCATOR"),
    ],
)
def test_a_call_inside_an_operator_claims_its_time(trace, name, kind):
    trace.op("aten::empty", at=10, dur=40)
    trace.call(name, at=20, dur=20)

    assert line(trace) == {"PYTHON": 50, kind: 20, "OP": 25, "LAUNCH": 5}


def test_an_operator_that_exists_only_to_wait_is_a_wait_as_a_whole(trace):
    trace.op("aten::item", at=10, dur=40)
    trace.op("aten::_local_scalar_dense", at=12, dur=36)
    trace.submit("copy of one number", at=15, start=25, dur=2)
    trace.call("cudaStreamSynchronize", at=22, dur=20)

    assert line(trace) == {"PYTHON": 50, "WAIT": 40, **LAST_TEN}


@pytest.mark.parametrize(
    "frame",
    [
        "torch/cuda/__init__.py(1080): synchronize",
        "/usr/lib/python3/site-packages/torch/cuda/streams.py(90): synchronize",
        "<built-in method item of Tensor object at 0x7f0000000000>",
        "<built-in method _cuda_synchronize of PyCapsule object at 0x7f0000000000>",
    ],
)
def test_a_python_frame_that_exists_only_to_wait_is_a_wait(trace, frame):
    trace.frame(frame, at=10, dur=40)

    assert line(trace) == {"PYTHON": 50, "WAIT": 40, **LAST_TEN}


def test_other_python_frames_are_python(trace):
    trace.frame("train.py(42): step", at=10, dur=40)

    assert line(trace) == {"PYTHON": 90, **LAST_TEN}


def test_work_inside_the_loader_is_the_loaders(trace):
    trace.range(LOADER, at=10, dur=40)
    trace.op("aten::stack", at=20, dur=20)

    assert line(trace) == {"PYTHON": 50, "LOADER": 40, **LAST_TEN}


def test_a_wait_inside_the_loader_is_a_wait(trace):
    trace.range(LOADER, at=10, dur=40)
    trace.call("cudaStreamSynchronize", at=20, dur=20)

    assert line(trace) == {"PYTHON": 50, "WAIT": 20, "LOADER": 20, **LAST_TEN}


def test_overhead_of_the_profiler_is_nobody_elses(trace):
    trace.op("aten::linear", at=10, dur=40)
    trace.call("cudaDeviceSynchronize", at=30, dur=10)
    trace.overhead(at=20, dur=20)

    assert line(trace) == {"PYTHON": 50, "OVERHEAD": 20, "OP": 25, "LAUNCH": 5}


def test_main_and_autograd_thread_are_one_line(trace):
    trace.op("autograd::engine::evaluate_function: MulBackward0", at=10, dur=40, thread=2)
    trace.kernel("kernel", at=60, dur=5, launch=trace.launch(at=20, dur=10, thread=2))

    assert line(trace) == {"PYTHON": 50, "OP": 35, "LAUNCH": 15}


def test_main_waits_for_autograd_without_the_time_counting_twice(trace):
    trace.op("autograd::engine::evaluate_function: MulBackward0", at=10, dur=40, thread=2)
    trace.kernel("kernel", at=60, dur=5, launch=trace.launch(at=20, dur=10, thread=2))
    trace.op("main thread, inside backward()", at=5, dur=50)

    assert line(trace) == {"PYTHON": 40, "OP": 45, "LAUNCH": 15}


@pytest.mark.parametrize("name", ["aten::stack", "cudaDeviceSynchronize"])
def test_a_thread_that_submits_nothing_is_not_on_the_line(trace, name):
    if name.startswith("aten"):
        trace.op(name, at=10, dur=40, thread=3)
    else:
        trace.call(name, at=10, dur=40, thread=3)

    assert line(trace) == {"PYTHON": 90, **LAST_TEN}


def test_kinds_fill_every_window_exactly():
    world = World()
    for _ in world.steps(2):
        world.load(40)
        for _ in range(3):
            world.op(30, kernel=20)
            world.python(7)
            world.malloc(15)
            world.item()
    host = timeline_of(world.finish()).line

    begin = np.array([0, 13_000, 55_000, 90_001])
    end = np.array([200_000, 13_000, 91_000, 90_002])
    assert host.time_by_kind(begin, end).sum(axis=1).tolist() == [200_000, 0, 36_000, 1]
    assert (host.time_by_kind(begin, end) >= 0).all()


def test_shares_of_the_host_leave_the_profiler_out():
    trace = Trace()
    trace.step(1, at=0, dur=200)
    trace.op("aten::mul", at=0, dur=30)
    trace.submit("kernel", at=10, start=40, dur=5)
    trace.call("cudaMalloc", at=30, dur=5)
    trace.call("cudaDeviceSynchronize", at=40, dur=20)
    trace.range(LOADER, at=60, dur=10)
    trace.overhead(at=100, dur=100)
    host = measure_host(timeline_of(trace))

    assert host.launch_call_share == pytest.approx(0.05)
    assert host.op_share == pytest.approx(0.30)  # allocator calls are the operators'
    assert host.wait_share == pytest.approx(0.30)
    assert host.python_share == pytest.approx(0.35)


def test_without_steps_and_launches_the_line_is_that_of_the_thread_that_does_most():
    trace = Trace()
    trace.op("aten::mul", at=0, dur=10, thread=2)
    for at in (20, 40):
        trace.op("aten::mul", at=at, dur=10, thread=3)

    assert line(trace, until=50) == {"PYTHON": 30, "OP": 20}


def test_without_launches_nothing_is_said_of_the_host_line():
    trace = Trace()
    trace.step(1, at=0, dur=200)
    trace.op("aten::mul", at=0, dur=30)

    assert measure_host(timeline_of(trace)).op_share is None


# --- What comes right before a wait ---------------------------------------------------------------


def test_the_views_that_only_say_which_value_is_read_belong_to_the_wait(trace):
    trace.op("aten::select", at=10, dur=8)
    trace.op("aten::item", at=20, dur=40)

    assert line(trace) == {"PYTHON": 40, "WAIT": 50, **LAST_TEN}


def test_other_operators_before_a_wait_do_not(trace):
    trace.op("aten::empty", at=10, dur=8)
    trace.op("aten::item", at=20, dur=40)

    assert line(trace) == {"PYTHON": 42, "OP": 13, "WAIT": 40, "LAUNCH": 5}


def test_a_view_without_a_wait_after_it_is_an_operator(trace):
    trace.op("aten::select", at=10, dur=8)

    assert line(trace) == {"PYTHON": 82, "OP": 13, "LAUNCH": 5}


def test_a_view_before_the_launch_before_the_wait_is_an_operator(trace):
    trace.op("aten::select", at=10, dur=8)
    trace.op("aten::mul", at=20, dur=10)
    trace.kernel("kernel", at=60, dur=5, launch=trace.launch(at=24, dur=5))
    trace.op("aten::item", at=40, dur=40)

    assert line(trace)["WAIT"] == 40
