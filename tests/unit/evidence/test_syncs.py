import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from boundby.evidence.syncs import sync_facts, sync_rows
from boundby.evidence.tables import SyncRow
from boundby.evidence.waits import outstanding
from builders import Trace
from worlds import timeline_of


def waiting(*operators, call="cudaStreamSynchronize", steps=2):
    """In each step of 1,000 us a kernel, a wait inside the operators, and another kernel."""
    trace = Trace()
    for number in range(steps):
        begin = 1000 * number
        trace.step(number + 1, begin, 1000)
        trace.submit("before", begin + 10, start=begin + 100, dur=200)
        for depth, name in enumerate(operators):
            trace.op(name, begin + 50 + depth, 300 - 2 * depth)
        trace.call(call, begin + 60, 250)
        trace.submit("after", begin + 500, start=begin + 520, dur=10)
    return trace


@pytest.mark.parametrize(
    ("kind", "operators"),
    [
        ("item", ["aten::item", "aten::_local_scalar_dense"]),
        ("item", ["aten::is_nonzero", "aten::item", "aten::_local_scalar_dense"]),
        ("item", ["aten::equal"]),
        ("data-dependent-shape", ["aten::nonzero"]),
        ("data-dependent-shape", ["aten::index", "aten::nonzero"]),
        ("data-dependent-shape", ["aten::masked_select"]),
        ("data-dependent-shape", ["aten::_unique2", "aten::item", "aten::_local_scalar_dense"]),
        ("data-dependent-shape", ["aten::unique_consecutive"]),
        ("host-copy", ["aten::to", "aten::_to_copy", "aten::copy_"]),
        ("explicit-sync", []),
        ("explicit-sync", ["aten::linalg_eigh"]),
    ],
)
def test_the_operators_around_a_wait_tell_its_kind(kind, operators):
    (row,) = sync_rows(timeline_of(waiting(*operators)))

    assert (row.kind, row.count_per_step, row.cost_ms) == (kind, 1, None)
    assert row.outstanding_device_ms == pytest.approx(0.200)


@pytest.mark.parametrize(
    "call", ["cudaDeviceSynchronize", "cudaEventSynchronize", "hipStreamSynchronize"]
)
def test_every_spelling_of_a_wait_counts(call):
    assert [row.kind for row in sync_rows(timeline_of(waiting(call=call)))] == ["explicit-sync"]


@pytest.mark.parametrize("call", ["cudaMalloc", "cudaFree", "hipMalloc"])
def test_allocator_calls_are_a_kind_of_their_own_wherever_they_are(call):
    assert [row.kind for row in sync_rows(timeline_of(waiting("aten::empty", call=call)))] == [
        "allocator"
    ]


def test_polling_is_no_wait():
    assert sync_rows(timeline_of(waiting(call="cudaEventQuery"))) == ()


def test_the_most_frequent_kind_comes_first():
    trace = waiting("aten::item", steps=1)
    for at in (350, 400):
        trace.call("cudaDeviceSynchronize", at, 5)

    assert [(row.kind, row.count_per_step) for row in sync_rows(timeline_of(trace))] == [
        ("explicit-sync", 2),
        ("item", 1),
    ]


def test_waits_at_the_edges_of_the_recording_are_left_out():
    trace = waiting("aten::item")
    trace.call("cudaDeviceSynchronize", 2, 5)
    trace.call("cudaDeviceSynchronize", 1900, 50)

    assert [row.kind for row in sync_rows(timeline_of(trace))] == ["item"]


def test_an_operator_that_waits_after_the_last_launch_is_the_programs():
    trace = waiting("aten::item")
    trace.op("aten::item", 1800, 100)
    trace.call("cudaStreamSynchronize", 1820, 50)

    (row,) = sync_rows(timeline_of(trace))

    assert (row.kind, row.count_per_step) == ("item", 1.5)


def test_a_drivers_call_inside_a_runtimes_is_one_wait():
    trace = waiting("aten::item", steps=1)
    trace.call("cuStreamSynchronize", 70, 200, category="cuda_driver")

    assert [row.count_per_step for row in sync_rows(timeline_of(trace))] == [1]


def copying(direction, *, call_us=300.0):
    """One step: a kernel of 150 us, then a copy inside ``aten::copy_`` that a wait follows."""
    trace = Trace()
    trace.step(1, 0, 1000)
    trace.submit("before", 10, start=50, dur=150)
    op = trace.op("aten::copy_", 60, 500)
    call = trace.launch(100, call_us, name="cudaMemcpyAsync", op=op)
    trace.copy(200, 180, launch=call, direction=direction)
    trace.submit("after", 600, start=620, dur=10)
    return trace


def test_a_pageable_copy_that_lasts_into_its_own_work_is_a_wait():
    (row,) = sync_rows(timeline_of(copying("HtoD (Pageable -> Device)")))

    assert (row.kind, row.count_per_step) == ("host-copy", 1)
    assert row.outstanding_device_ms == pytest.approx(0.100)


@pytest.mark.parametrize(
    "trace",
    [
        pytest.param(copying("HtoD (Pinned -> Device)"), id="pinned"),
        pytest.param(copying("DtoD (Device -> Device)"), id="on the device"),
        pytest.param(copying("HtoD (Pageable -> Device)", call_us=20.0), id="handed over"),
    ],
)
def test_a_copy_that_lets_the_host_go_is_no_wait(trace):
    assert sync_rows(timeline_of(trace)) == ()


def test_a_copy_and_the_wait_that_follows_it_up_are_one():
    trace = copying("DtoH (Device -> Pageable)")
    trace.call("cudaStreamSynchronize", 410, 10)

    assert [row.count_per_step for row in sync_rows(timeline_of(trace))] == [1]


def test_a_pinned_copy_that_is_waited_for_is_a_host_copy():
    trace = copying("HtoD (Pinned -> Device)", call_us=10)
    trace.call("cudaStreamSynchronize", 120, 270)

    assert [row.kind for row in sync_rows(timeline_of(trace))] == ["host-copy"]


def test_waits_of_other_threads_are_not_the_host_lines():
    trace = waiting("aten::item")
    trace.call("cudaStreamSynchronize", 60, 250, thread=9)

    assert [row.count_per_step for row in sync_rows(timeline_of(trace))] == [1]


def test_without_device_work_there_are_no_waits():
    trace = Trace()
    trace.step(1, 0, 100)
    trace.op("aten::item", 10, 50)

    assert sync_rows(timeline_of(trace)) == ()


def test_stacks_tell_where_the_host_waits():
    trace = waiting("aten::item")
    for begin in (0, 1000):
        trace.frame("train.py(42): step", begin, 900)
        trace.frame("torch/_tensor.py(1): item", begin + 40, 400)
    timeline = timeline_of(trace)

    rows = sync_rows(timeline)
    (fact,) = sync_facts(timeline.recording, rows)

    assert [(place.file, place.line, place.function) for place in rows[0].where] == [
        ("train.py", 42, "step")
    ]
    assert (fact.id, fact.value, fact.where) == ("wait-item", 1, rows[0].where)
    assert fact.text == (
        "the host waits once a step to read a value, with 0.2 ms of device work outstanding, "
        "in step in train.py (defined at line 42)"
    )


def test_a_fact_without_a_place_or_a_queue_ends_early():
    recording = timeline_of(waiting()).recording

    (fact,) = sync_facts(recording, [SyncRow("explicit-sync", 2.5, None, None)])

    assert fact.text == "the host is told 2.5 times a step to wait for the device"


@given(
    st.lists(
        st.tuples(st.integers(0, 60), st.integers(0, 60), st.integers(1, 30), st.integers(7, 9)),
        min_size=1,
        max_size=8,
    ),
    st.lists(st.integers(0, 400), min_size=1, max_size=5),
)
def test_outstanding_work_by_its_definition(launches, moments):
    trace, kernels, at = Trace(), [], 0
    for gap, delay, dur, stream in launches:
        at += gap + 6
        trace.submit("kernel", at, start=at + 1 + delay, dur=dur, stream=stream)
        kernels.append((at, at + 1 + delay, dur))
    trace.step(1, 0, 1000)
    origin = timeline_of(trace)
    times = np.array(moments) * 1000

    found = outstanding(origin, times)

    expected = [
        sum(dur - min(max(t - start, 0), dur) for begin, start, dur in kernels if begin < t)
        for t in moments
    ]
    assert found.tolist() == [1000 * value for value in expected]
