"""Each check fires on the recording it is about, and on no other."""

import pytest

from boundby.read import read_recording
from boundby.read.quality import is_void
from builders import H200, Trace, training_steps
from recordings import findings

MS = 1000.0


@pytest.fixture
def found(tmp_path):
    def _found(trace):
        return findings(read_recording(trace.write(tmp_path / "trace.json")))

    return _found


def count(trace, finding, tmp_path):
    recording = read_recording(trace.write(tmp_path / "counted.json"))
    return next(q.count for q in recording.quality if q.id == finding)


def without(trace, *categories):
    trace.events = [event for event in trace.events if event["cat"] not in categories]
    return trace


def test_a_sound_recording_says_nothing(found):
    assert found(training_steps()) == {}


# --- The device -----------------------------------------------------------------------------------


def test_launches_without_any_kernel_are_no_launch_bound_program(found):
    assert found(without(training_steps(), "kernel")) == {"no-kernels": "fatal"}


def test_copies_do_not_stand_for_kernels(found):
    trace = without(training_steps(), "kernel")
    trace.copy(500, 5, launch=trace.launch(490, name="cudaMemcpyAsync"))

    assert found(trace) == {"no-kernels": "fatal"}


def test_a_program_of_copies_only_is_sound(found):
    trace = Trace()
    for row in range(12):
        call = trace.launch(row * 10, name="cudaMemcpyAsync")
        trace.copy(row * 10 + 6, 3, launch=call)

    assert found(trace) == {}


def test_a_program_on_the_cpu_beside_a_device(found):
    assert found(without(training_steps(), "kernel", "cuda_runtime")) == {"device-unused": "fatal"}


def test_a_recording_of_the_cpu_only(found):
    trace = without(training_steps(), "kernel", "cuda_runtime")
    trace.metadata["deviceProperties"] = []

    assert found(trace) == {"cpu-only": "fatal"}


def test_a_capture_without_a_replay(found):
    trace = Trace()
    trace.call("cudaStreamBeginCapture_v10000", 0, 1)
    for row in range(10):
        trace.launch(10 + 10 * row)
    trace.call("cudaStreamEndCapture_v10000", 200, 1)
    trace.call("cudaDeviceSynchronize", 210, 1)

    assert found(trace) == {"capture-only": "fatal"}


def test_a_capture_beside_real_work_is_no_loss(found):
    trace = training_steps()
    trace.call("cudaStreamBeginCapture", 700, 1)
    for row in range(20):
        trace.launch(710 + 10 * row)
    trace.call("cudaStreamEndCapture", 990, 1)

    assert found(trace) == {}


def test_a_handful_of_kernels_is_nothing_to_conclude_from(found):
    trace = Trace()
    for row in range(4):
        trace.submit("k", row * 1000 * MS, start=row * 1000 * MS + 10, dur=4)

    assert found(trace) == {"too-little-device-work": "fatal"}


def test_a_few_long_kernels_are_enough(found):
    trace = Trace()
    for row in range(4):
        trace.submit("gemm", row * 10, start=10 + row * 900, dur=800)

    assert found(trace) == {}


@pytest.mark.parametrize(("overlap", "severity"), [(1.5, "info"), (4, "warning")])
def test_rows_of_one_stream_that_overlap(found, overlap, severity):
    trace = Trace()
    for row in range(20):
        trace.submit("k", row * 100, start=row * 100 + 10, dur=50)
        at = row * 100 + 60 - (overlap if row % 2 else 0) * (1 if overlap < 2 else 3)
        trace.submit("next", row * 100 + 5, start=at, dur=30)

    assert found(trace) == {"same-stream-overlap": severity}


def test_rows_of_two_streams_or_devices_may_overlap(found):
    trace = training_steps()
    for row in range(30):
        trace.submit("k", row * 20, start=row * 20 + 6, dur=12, stream=8)
        trace.submit("k", row * 20 + 6, start=row * 20 + 12, dur=12, device=1)

    assert found(trace) == {"other-devices": "warning"}


@pytest.mark.parametrize(("silent", "severity"), [(1, "warning"), (3, "fatal")])
def test_graph_launches_without_kernels(found, silent, severity):
    trace = Trace()
    for row in range(5):
        call = trace.launch(row * 100, name="cudaGraphLaunch")
        for node in range(4 if row >= silent else 0):
            trace.kernel("k", row * 100 + 10 + node * 10, 9, launch=call)

    assert found(trace) == {"graph-not-recorded": severity}


# --- Launches and the work they caused ------------------------------------------------------------


@pytest.mark.parametrize(("early", "severity"), [(1, "warning"), (10, "fatal")])
def test_kernels_before_their_launch(found, early, severity):
    trace = training_steps()
    for event in [event for event in trace.events if event["cat"] == "kernel"][3 : 3 + early]:
        event["ts"] -= 11

    assert found(trace) == {"kernel-before-launch": severity}


def test_a_kernel_may_start_before_its_launch_returns(found):
    trace = training_steps()
    for event in trace.events:
        if event["cat"] == "kernel":
            event["ts"] -= 7

    assert found(trace) == {}


@pytest.mark.parametrize(("lost", "severity"), [(2, "warning"), (10, "fatal")])
def test_kernels_whose_launch_is_missing(found, lost, severity):
    trace = training_steps()
    launches = [event for event in trace.events if event["name"] == "cudaLaunchKernel"]
    trace.events = [event for event in trace.events if event not in launches[2 : 2 + lost]]

    assert found(trace)["kernels-without-launch"] == severity


def test_kernels_launched_before_the_recording_are_lawful(found, tmp_path):
    trace = Trace(last_id=5000)
    for row in range(20):
        trace.kernel("k", row * 10, 9, launch=row + 1)
    for row in range(20):
        trace.submit("k", row * 10, start=row * 10 + 205, dur=9)

    assert found(trace) == {"launched-before-recording": "info"}
    assert count(trace, "launched-before-recording", tmp_path) == 20


@pytest.mark.parametrize(("lost", "severity"), [(2, "warning"), (10, "fatal")])
def test_launches_whose_kernel_is_missing(found, lost, severity):
    trace = training_steps()
    kernels = [event for event in trace.events if event["cat"] == "kernel"]
    trace.events = [event for event in trace.events if event not in kernels[-lost:]]

    assert found(trace)["launches-without-kernels"] == severity


def test_a_memset_of_nothing_needs_no_device_row(found):
    trace = training_steps()
    for row in range(20):
        trace.launch(row * 20 + 18, 1, name="cudaMemsetAsync")

    assert found(trace) == {}


def test_a_device_that_starts_long_after_an_idle_launch(found):
    trace = Trace()
    for row in range(20):
        trace.submit("k", row * 10, start=row * 10 + 150 * MS, dur=9)

    assert found(trace) == {"late-device": "fatal"}


def test_a_device_busy_with_earlier_work_is_not_late(found):
    trace = Trace(last_id=100)
    trace.kernel("long", 0, 150 * MS, launch=1)
    for row in range(20):
        trace.submit("k", row * 10, start=row * 10 + 150 * MS, dur=9)

    assert found(trace) == {"launched-before-recording": "info"}


# --- The host -------------------------------------------------------------------------------------


def test_a_device_alone_tells_nothing_of_the_host(found):
    trace = without(training_steps(), "cpu_op", "cuda_runtime", "user_annotation")

    assert found(trace) == {"no-host-events": "fatal"}


@pytest.mark.parametrize(("elsewhere", "severity"), [(0, "fatal"), (1000 * MS, "warning")])
def test_a_launch_that_loads_code(found, elsewhere, severity):
    trace = Trace()
    call = trace.launch(0, 25 * MS)
    trace.kernel("first", 24 * MS, 5, launch=call)
    for row in range(20):
        at = 30 * MS + row * max(elsewhere / 20, 20)
        trace.submit("k", at, start=at + 8, dur=9)

    assert found(trace) == {"cold-start": severity}


def test_a_launch_that_waits_for_a_full_queue_is_not_cold(found):
    trace = Trace()
    trace.submit("long", 0, start=6, dur=40 * MS)
    call = trace.launch(10, 39 * MS)
    trace.kernel("next", 41 * MS, 5, launch=call)
    for row in range(20):
        trace.submit("k", 40 * MS + row * 20, start=42 * MS + row * 20, dur=9)

    assert found(trace) == {}


def test_a_wait_for_work_that_is_not_recorded(found):
    trace = training_steps(3, 10)
    trace.call("cudaStreamSynchronize", 700, 5 * MS)

    assert found(trace) == {"unrecorded-wait": "fatal"}


def test_a_wait_for_recorded_work_is_lawful(found):
    trace = training_steps(3, 10)
    trace.submit("long", 670, start=680, dur=5 * MS)
    trace.call("cudaStreamSynchronize", 690, 5 * MS)

    assert found(trace) == {}


def test_a_step_without_device_work(found, tmp_path):
    trace = training_steps()
    trace.step(4, 700, 100)

    assert found(trace) == {"idle-steps": "warning"}
    assert count(trace, "idle-steps", tmp_path) == 1


@pytest.mark.parametrize(("dur", "severity"), [(1, "info"), (100, "warning")])
def test_the_profilers_own_work(found, dur, severity):
    trace = training_steps()
    trace.overhead(300, dur)

    assert found(trace) == {"profiler-overhead": severity}


# --- All of them ----------------------------------------------------------------------------------


def test_the_gravest_finding_comes_first_and_says_what_to_do(tmp_path):
    trace = without(training_steps(), "kernel")
    trace.overhead(300, 100)
    trace.add("quantum_op", "q", 1, 2)

    recording = read_recording(trace.write(tmp_path / "trace.json"))

    assert [q.severity for q in recording.quality] == ["fatal", "warning", "info"]
    assert is_void(recording)
    assert not is_void(read_recording(training_steps().write(tmp_path / "sound.json")))
    for finding in recording.quality:
        assert finding.message.endswith(".")
        assert "\n" not in finding.message
        assert len(finding.message) < 250


def test_a_device_of_the_recorder_is_not_needed(found):
    trace = training_steps()
    trace.metadata["deviceProperties"] = [{**H200, "name": ""}]

    assert found(trace) == {}
