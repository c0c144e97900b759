"""A launch is a call whose correlation device work carries, whatever its name and whenever."""

import pytest

from boundby.read.recording import NONE
from boundby.timeline.launches import join_launches
from boundby.timeline.timeline import busiest_device
from builders import Trace
from worlds import read, timeline_of


def joined(trace, device=0):
    """Name of the launch of each device row, by the name of the row."""
    recording = read(trace)
    launches = join_launches(recording, device)
    rows, host = recording.device, recording.host
    return {
        recording.names[rows.name[row]]: (
            None
            if launches.of_row[row] == NONE
            else recording.names[host.name[launches.row[launches.of_row[row]]]]
        )
        for row in range(len(rows))
    }


def test_a_kernel_belongs_to_the_call_with_its_correlation_and_not_to_the_one_before_it():
    trace = Trace()
    early = trace.launch(at=0, name="cudaLaunchKernel")
    late = trace.launch(at=10, name="cudaLaunchKernelExC")
    trace.kernel("first on the device", at=20, dur=5, launch=late)
    trace.kernel("second on the device", at=30, dur=5, launch=early)

    assert joined(trace) == {
        "first on the device": "cudaLaunchKernelExC",
        "second on the device": "cudaLaunchKernel",
    }


@pytest.mark.parametrize(
    "name", ["cudaLaunchKernel", "cuLaunchKernel", "hipExtModuleLaunchKernel", "someFutureCall"]
)
def test_any_call_that_device_work_answers_is_a_launch(name):
    trace = Trace()
    trace.kernel("kernel", at=20, dur=5, launch=trace.launch(at=0, name=name))

    assert joined(trace) == {"kernel": name}


def test_a_launch_by_name_that_nothing_answers_is_none():
    trace = Trace()
    trace.launch(at=0)
    trace.kernel("kernel", at=20, dur=5, launch=trace.launch(at=10))

    assert len(join_launches(read(trace), 0)) == 1


def test_a_kernel_whose_launch_was_not_recorded_has_none():
    trace = Trace()
    trace.kernel("kernel", at=20, dur=5, launch=trace.launch(at=10))
    trace.kernel("orphan", at=30, dur=5, launch=999)

    assert joined(trace) == {"kernel": "cudaLaunchKernel", "orphan": None}


def test_operators_are_no_launches_even_with_a_number_that_a_kernel_carries():
    trace = Trace()
    number = trace.op("aten::mm", at=0, dur=20)
    trace.kernel("kernel", at=20, dur=5, launch=number)

    assert joined(trace) == {"kernel": None}


def test_one_graph_launch_carries_many_rows_and_is_known_by_the_first_to_start():
    trace = Trace()
    graph = trace.launch(at=0, name="cudaGraphLaunch")
    for at, name in ((40, "last"), (20, "first"), (30, "middle")):
        trace.kernel(name, at=at, dur=5, launch=graph)
    recording = read(trace)
    launches = join_launches(recording, 0)

    assert launches.of_row.tolist() == [0, 0, 0]
    assert recording.names[recording.device.name[launches.first_row[0]]] == "first"


def test_launches_of_another_device_are_left_out():
    trace = Trace()
    trace.kernel("here", at=20, dur=5, launch=trace.launch(at=0))
    trace.kernel("there", at=20, dur=50, launch=trace.launch(at=10), device=1)

    assert joined(trace, device=0) == {"here": "cudaLaunchKernel", "there": None}
    assert joined(trace, device=1) == {"here": None, "there": "cudaLaunchKernel"}


def test_the_timeline_is_of_the_busiest_device():
    trace = Trace()
    for at in (0, 10, 20):
        trace.kernel("many but short", at=at + 10, dur=5, launch=trace.launch(at=at))
    trace.kernel("long", at=40, dur=50, launch=trace.launch(at=30), device=1)
    recording = read(trace)

    assert busiest_device(recording) == 1
    assert len(timeline_of(trace).rows) == 1


def test_without_device_rows_there_is_no_device():
    trace = Trace()
    trace.op("aten::mm", at=0, dur=20)
    timeline = timeline_of(trace)

    assert timeline.device == NONE
    assert not timeline.has_device_work
    assert len(timeline.launches) == 0


def test_work_belongs_to_the_step_of_its_launch_and_not_to_the_one_it_runs_in():
    trace = Trace()
    trace.step(1, at=0, dur=100)
    trace.step(2, at=100, dur=100)
    trace.kernel("launched before the recording", at=5, dur=200, launch=999)
    trace.kernel("of step 1, running in step 2", at=205, dur=50, launch=trace.launch(at=50))
    trace.kernel("of step 2, running after it", at=255, dur=50, launch=trace.launch(at=150))
    trace.kernel("after the steps", at=305, dur=50, launch=trace.launch(at=300))

    assert timeline_of(trace).row_step.tolist() == [NONE, 0, 1, NONE]
