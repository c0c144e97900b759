import numpy as np
import pytest

from boundby.timeline.measure import measure_device
from boundby.timeline.queue import depth_at, previous_end
from boundby.timeline.summary import QueueDelay
from builders import Trace
from worlds import World, timeline_of


def test_depth_is_what_was_submitted_and_is_not_done():
    submitted, finished = np.array([10, 20, 30]), np.array([50, 60, 70])

    depth = depth_at(np.array([5, 10, 25, 50, 65, 80]), submitted, finished)

    assert depth.tolist() == [0, 1, 2, 2, 1, 0]


def test_depth_is_never_negative_although_clocks_may_disagree():
    assert depth_at(np.array([15]), np.array([20]), np.array([10])).tolist() == [0]


def test_the_work_before_is_that_of_the_same_stream():
    stream = np.array([7, 8, 7, 8])
    start, end = np.array([0, 5, 20, 30]), np.array([10, 40, 25, 50])

    first = np.iinfo(np.int64).min
    assert previous_end(stream, start, end).tolist() == [first, first, 10, 40]


def test_a_long_kernel_that_others_overlap_still_is_the_work_before():
    start, end = np.array([0, 5, 20]), np.array([100, 10, 30])

    assert previous_end(np.array([7, 7, 7]), start, end).tolist()[1:] == [100, 100]


def test_delay_is_start_of_call_to_start_of_kernel_on_an_empty_queue_alone():
    trace = Trace()
    trace.step(1, at=0, dur=1000)
    trace.submit("onto an empty queue", at=0, start=12, dur=400)
    trace.submit("behind it", at=20, start=412, dur=10)
    trace.submit("onto an empty queue", at=600, start=620, dur=10)
    delay = measure_device(timeline_of(trace)).queue_delay_us

    assert delay.p50 == pytest.approx(16)
    assert delay.p99 == pytest.approx(20, abs=0.2)


def test_on_a_device_that_is_never_idle_only_the_first_launch_tells_the_delay():
    world = World(call=9, latency=4)
    for _ in world.steps(2):
        for _ in range(10):
            world.op(20, kernel=100)

    assert measure_device(timeline_of(world.finish())).queue_delay_us.p50 == pytest.approx(13)


def test_without_device_work_nothing_is_said():
    trace = Trace()
    trace.op("aten::mm", at=0, dur=20)
    device = measure_device(timeline_of(trace))

    assert device.busy_share_observed is None
    assert device.ms_per_step is None
    assert device.shares is None
    assert device.queue_delay_us.p50 is None


def test_a_delay_is_never_negative_although_clocks_may_disagree():
    trace = Trace()
    trace.step(1, at=0, dur=1000)
    for row in range(12):
        trace.submit("early", at=row * 50 + 10, start=row * 50 + 3, dur=10)
    timeline = timeline_of(trace)

    assert measure_device(timeline).queue_delay_us == QueueDelay(None, None)
    assert "kernel-before-launch" in {finding.id for finding in timeline.recording.quality}
