"""Which work of one stream waits for work of another: stated, called for, or only observed."""

import pytest

from boundby.replay.engine import replay
from boundby.replay.program import NOTHING
from builders import Trace
from worlds import program_of

MAIN, SIDE = 7, 20


def trace_of(*work):
    """A step of launches 20 us apart, each with a kernel (stream, start, dur)."""
    trace = Trace()
    trace.step(1, at=0, dur=20 * len(work) + 20)
    for number, (stream, start, dur) in enumerate(work):
        trace.submit(f"kernel {number}", at=20 * number, start=start, dur=dur, stream=stream)
    return trace


def after(trace):
    """For each kernel the number of the one of another stream it waits for, None where none."""
    return [None if item == NOTHING else item for item in program_of(trace).work.after.tolist()]


def test_a_wait_that_the_recording_states():
    trace = trace_of((SIDE, 10, 50), (MAIN, 200, 30))
    call = trace.call("cudaStreamWaitEvent", at=10, dur=2)
    trace.wait("Stream Wait Event", at=15, dur=1, call=call, stream=MAIN, on_stream=SIDE)

    assert after(trace) == [None, 0]


def test_a_wait_binds_the_last_work_before_it_and_the_next_work_after_it():
    trace = trace_of((SIDE, 10, 20), (SIDE, 30, 20), (MAIN, 60, 30), (MAIN, 90, 30))
    call = trace.call("cudaStreamWaitEvent", at=35, dur=2)
    trace.wait("Stream Wait Event", at=36, dur=1, call=call, stream=MAIN, on_stream=SIDE)

    assert after(trace) == [None, None, 1, None]


@pytest.mark.parametrize("name", ["cudaStreamWaitEvent", "hipStreamWaitEvent"])
def test_a_call_whose_streams_follow_from_the_launches_around_it(name):
    trace = trace_of((SIDE, 10, 50), (MAIN, 62, 30))
    trace.call(name, at=10, dur=2)

    assert after(trace) == [None, 0]


def test_a_wait_that_the_recording_contradicts_is_none():
    trace = trace_of((SIDE, 10, 500), (MAIN, 30, 30))
    trace.call("cudaStreamWaitEvent", at=10, dur=2)

    assert after(trace) == [None, None]


def test_work_that_starts_late_and_right_after_another_stream_waited_for_it():
    assert after(trace_of((SIDE, 10, 300), (MAIN, 312, 30))) == [None, 0]


def test_work_that_starts_long_after_another_stream_waited_for_something_else():
    assert after(trace_of((SIDE, 10, 50), (MAIN, 312, 30))) == [None, None]


def test_work_on_one_stream_needs_no_word_about_its_order():
    assert after(trace_of((MAIN, 10, 300), (MAIN, 312, 30))) == [None, None]


def test_streams_that_run_side_by_side_wait_for_nothing():
    assert after(trace_of((SIDE, 10, 300), (MAIN, 30, 300))) == [None, None]


@pytest.mark.parametrize("dur", [50, 400])
def test_replayed_the_waiting_work_starts_when_the_other_is_done(dur):
    trace = trace_of((SIDE, 10, dur), (MAIN, 12 + dur, 30))
    trace.call("cudaStreamWaitEvent", at=10, dur=2)

    starts = replay(program_of(trace)).start
    assert starts[1] >= (10 + dur) * 1000 - 5000
    assert starts[1] == pytest.approx((12 + dur) * 1000, abs=6000)
