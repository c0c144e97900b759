import pytest
from hypothesis import given
from hypothesis import strategies as st

from boundby.evidence.operators import operator_rows
from builders import Trace
from worlds import timeline_of


def by_name(timeline):
    return {row.name: row for row in operator_rows(timeline)}


def linear_twice():
    """Two steps, in each ``linear`` of 40 us around ``addmm`` of 20 us with one kernel of 30 us."""
    trace = Trace()
    for number in range(2):
        begin = 100 * number
        trace.step(number + 1, begin, 100)
        trace.op("aten::linear", begin + 10, 40)
        op = trace.op("aten::addmm", begin + 20, 20)
        trace.submit("gemm", begin + 22, start=begin + 40, dur=30, op=op)
    return trace


def test_times_are_per_step_and_self_excludes_direct_children():
    rows = by_name(timeline_of(linear_twice()))

    linear, addmm, call = rows["aten::linear"], rows["aten::addmm"], rows["cudaLaunchKernel"]
    assert (linear.calls, addmm.calls, call.calls) == (1, 1, 1)
    assert (linear.self_host_ms, linear.total_host_ms) == pytest.approx((0.020, 0.040))
    assert (addmm.self_host_ms, addmm.total_host_ms) == pytest.approx((0.015, 0.020))
    assert (call.self_host_ms, call.total_host_ms) == pytest.approx((0.005, 0.005))


def test_device_time_is_the_innermost_operators_and_its_holders_total():
    rows = by_name(timeline_of(linear_twice()))

    linear, addmm, call = rows["aten::linear"], rows["aten::addmm"], rows["cudaLaunchKernel"]
    assert (linear.self_device_ms, linear.total_device_ms) == pytest.approx((0, 0.030))
    assert (addmm.self_device_ms, addmm.total_device_ms) == pytest.approx((0.030, 0.030))
    assert (call.self_device_ms, call.total_device_ms) == (0, 0)


def test_most_device_time_comes_first_then_most_host_time():
    names = [row.name for row in operator_rows(timeline_of(linear_twice()))]

    assert names == ["aten::linear", "aten::addmm", "cudaLaunchKernel"]


def test_an_operator_that_calls_itself_counts_once_in_its_total():
    trace = Trace()
    trace.step(1, 0, 100)
    trace.op("aten::to", 10, 50)
    op = trace.op("aten::to", 20, 20)
    trace.submit("copy", 22, start=30, dur=7, op=op)

    row = by_name(timeline_of(trace))["aten::to"]

    assert row.calls == 2
    assert (row.self_host_ms, row.total_host_ms) == pytest.approx((0.045, 0.050))
    assert (row.self_device_ms, row.total_device_ms) == pytest.approx((0.007, 0.007))


def test_work_that_no_operator_launched_is_the_calls():
    trace = Trace()
    trace.step(1, 0, 100)
    graph = trace.launch(10, 20, name="cudaGraphLaunch")
    for node in range(3):
        trace.kernel("node", 40 + 10 * node, 8, launch=graph)

    row = by_name(timeline_of(trace))["cudaGraphLaunch"]

    assert (row.self_device_ms, row.total_device_ms) == pytest.approx((0.024, 0.024))


def test_what_another_thread_does_meanwhile_is_no_child():
    trace = Trace()
    trace.step(1, 0, 100)
    trace.op("aten::mul", 10, 50)
    trace.op("aten::mm", 20, 20, thread=2)

    assert by_name(timeline_of(trace))["aten::mul"].self_host_ms == pytest.approx(0.050)


def test_a_child_rounded_beyond_its_parent_takes_no_more_than_the_parent_has():
    trace = Trace()
    trace.step(1, 0, 100)
    trace.op("aten::linear", 10, 20)
    trace.op("aten::addmm", 15, 15.001)

    rows = by_name(timeline_of(trace))

    assert rows["aten::linear"].self_host_ms == pytest.approx(0.005)


def test_what_lies_outside_the_steps_is_not_counted():
    trace = linear_twice()
    trace.op("aten::late", 300, 10)

    assert "aten::late" not in by_name(timeline_of(trace))


@st.composite
def forests(draw):
    """A step whose operators nest at random, some of which launch a kernel of 1 to 9 us."""
    trace, end, launched = Trace(), 1.0, []

    def grow(depth):
        nonlocal end
        begin, name = end, draw(st.sampled_from(["aten::a", "aten::b", "aten::c"]))
        end += 1
        for _ in range(draw(st.integers(0, 3 if depth < 3 else 0))):
            grow(depth + 1)
        if draw(st.booleans()):
            launched.append((end, draw(st.integers(1, 9))))
            end += 6
        end += 1
        trace.op(name, begin, end - begin)

    for _ in range(draw(st.integers(1, 3))):
        grow(0)
    for at, dur in launched:
        trace.submit("kernel", at, start=at + 2, dur=dur)
    trace.step(1, 0, end + 1)
    return trace, end - 1, sum(dur for _, dur in launched)


@given(forests())
def test_self_times_sum_to_all_time_and_totals_are_no_less(forest):
    trace, host_us, device_us = forest

    rows = operator_rows(timeline_of(trace))

    assert sum(row.self_host_ms for row in rows) == pytest.approx(host_us / 1000)
    assert sum(row.self_device_ms for row in rows) == pytest.approx(device_us / 1000)
    for row in rows:
        assert row.self_host_ms <= row.total_host_ms + 1e-9
        assert row.self_device_ms <= row.total_device_ms + 1e-9
        assert row.total_host_ms <= host_us / 1000 + 1e-9
        assert row.total_device_ms <= device_us / 1000 + 1e-9
