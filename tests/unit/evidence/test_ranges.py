import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from boundby.evidence.phases import without_closures
from boundby.evidence.ranges import range_rows
from boundby.intervals import Intervals
from builders import Trace
from worlds import timeline_of


def by_name(timeline):
    return {row.name: row for row in range_rows(timeline)}


def training(*, named=False):
    """Two steps of 1,000 us: loading, forward with 40 us of device work, backward 60, update 20."""
    trace = Trace()
    for number in range(2):
        begin = 1000 * number
        trace.step(number + 1, begin, 1000)
        trace.range("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", begin, 100)
        trace.op("aten::stack", begin + 10, 50)
        if named:
            trace.range("forward pass", begin + 110, 95)
        forward = trace.op("aten::addmm", begin + 120, 80)
        trace.submit("gemm", begin + 130, start=begin + 150, dur=40, op=forward)
        trace.op("autograd::engine::evaluate_function: AddmmBackward0", begin + 300, 90, thread=2)
        backward = trace.op("aten::mm", begin + 310, 70, thread=2)
        call = trace.launch(begin + 320, op=backward, thread=2)
        trace.kernel("gemm", begin + 340, 60, launch=call)
        trace.range("Optimizer.step#AdamW.step", begin + 500, 200)
        update = trace.op("aten::_fused_adamw_", begin + 510, 100)
        trace.submit("adamw", begin + 520, start=begin + 560, dur=20, op=update)
    return trace


def test_host_time_is_how_long_a_range_is_open_and_device_time_what_it_launched():
    row = by_name(timeline_of(training()))["Optimizer.step#AdamW.step"]

    assert row.count == 1
    assert (row.host_ms, row.device_ms) == pytest.approx((0.200, 0.020))


def test_phases_are_derived_where_nobody_named_them():
    rows = by_name(timeline_of(training()))

    forward, backward = rows["phase: forward"], rows["phase: backward"]
    assert (forward.host_ms, forward.device_ms) == pytest.approx((0.080, 0.040))
    assert (backward.host_ms, backward.device_ms) == pytest.approx((0.090, 0.060))
    assert rows["phase: optimizer"].host_ms == pytest.approx(0.200)
    assert [forward.count, backward.count, rows["phase: optimizer"].count] == [1, 1, 1]


def test_a_closure_inside_an_update_is_no_update():
    trace = training()
    for begin in (0, 1000):
        trace.range("Optimizer.step#SGD.step", begin + 105, 800)  # forward and backward in it
    rows = by_name(timeline_of(trace))

    assert rows["phase: forward"].device_ms == pytest.approx(0.040)
    assert rows["phase: backward"].device_ms == pytest.approx(0.060)
    assert rows["phase: optimizer"].host_ms == pytest.approx(0.905 - 0.390)
    assert rows["phase: optimizer"].device_ms == pytest.approx(0.020)


@pytest.mark.parametrize(
    ("backward", "left"),
    [
        ([(20, 30), (50, 60)], [(60, 90)]),  # the last that starts inside
        ([(0, 10)], [(10, 90)]),  # starts with the range
        ([(-10, 5), (95, 99)], [(0, 90)]),  # around it, and after it
        ([(80, 95)], []),  # still running at its end
        ([], [(0, 90)]),
    ],
)
def test_an_update_is_what_follows_the_last_backward_inside_its_range(backward, left):
    def intervals(pairs):
        columns = np.array(pairs, dtype=np.int64).reshape(-1, 2)
        return Intervals(columns[:, 0], columns[:, 1])

    found = without_closures(intervals([(0, 90)]), intervals(backward))

    assert list(zip(found.start.tolist(), found.end.tolist(), strict=True)) == left


def test_a_phase_the_user_named_is_not_derived_again():
    rows = by_name(timeline_of(training(named=True)))

    assert rows["forward pass"].device_ms == pytest.approx(0.040)
    assert "phase: forward" not in rows
    assert "phase: backward" in rows


def test_phases_come_last_and_steps_are_no_rows():
    names = [row.name for row in range_rows(timeline_of(training()))]

    assert names == [
        "Optimizer.step#AdamW.step",
        "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__",
        "phase: forward",
        "phase: backward",
        "phase: optimizer",
    ]


def test_inference_has_no_phases():
    trace = Trace()
    trace.step(1, 0, 100)
    op = trace.op("aten::mm", 10, 30)
    trace.submit("gemm", 12, start=30, dur=30, op=op)

    assert range_rows(timeline_of(trace)) == ()


def test_a_range_inside_itself_counts_its_time_once():
    trace = Trace()
    trace.step(1, 0, 100)
    trace.range("block", 10, 50)
    trace.range("block", 20, 30)

    row = by_name(timeline_of(trace))["block"]

    assert row.count == 2
    assert row.host_ms == pytest.approx(0.050)


def test_names_that_only_count_share_a_row():
    trace = Trace()
    for number in range(3):
        trace.step(number + 1, 100 * number, 100)
        trace.range(f"batch {number}", 100 * number + 10, 50)
        for layer in range(2):
            trace.range(f"layer {layer}", 100 * number + 20 + 10 * layer, 5)

    rows = by_name(timeline_of(trace))

    assert set(rows) == {"batch #", "layer 0", "layer 1"}
    assert rows["batch #"].count == 1


def test_a_range_on_a_thread_that_submits_nothing_is_left_out():
    trace = training()
    trace.range("pin memory", 100, 500, thread=9)

    assert "pin memory" not in by_name(timeline_of(trace))


@given(st.lists(st.tuples(st.integers(0, 60), st.integers(1, 40), st.integers(7, 9)), min_size=1))
def test_disjoint_ranges_share_out_the_busy_time_of_all_streams(kernels):
    trace = Trace()
    trace.step(1, 0, 10 * len(kernels) + 200)
    covered = set()
    for index, (delay, dur, stream) in enumerate(kernels):
        at = 10 * index
        trace.range("even" if index % 2 == 0 else "odd", at, 10)
        trace.submit("kernel", at + 1, start=at + 3 + delay, dur=dur, stream=stream)
        covered |= set(range(at + 3 + delay, at + 3 + delay + dur))

    rows = range_rows(timeline_of(trace))

    assert sum(row.device_ms for row in rows) == pytest.approx(len(covered) / 1000)
