"""What no hardware can have done is told, and nothing strong rests on it."""

from dataclasses import replace

import pytest

from boundby.diagnose import Options, diagnose
from boundby.evidence.observed import observe
from boundby.replay.values import Estimate
from builders import Trace, training_steps
from recordings import findings
from worlds import ELEMENTWISE, World, diagnosis_of, read

MS = 1000.0
S = 1e6


def last(trace, category):
    return [event for event in trace.events if event["cat"] == category][-1]


def found(trace):
    return findings(read(trace))


def is_strong(trace):
    return diagnosis_of(trace).verdict.strength == "strong"


def test_the_sound_recording_is_strong():
    assert is_strong(training_steps())


# --- Events that last too long --------------------------------------------------------------------


def test_a_last_kernel_that_goes_on_long_after_all_else_voids():
    trace = training_steps()
    last(trace, "kernel")["dur"] = 1000 * S

    assert found(trace)["outlasting-events"] == "fatal"
    assert diagnosis_of(trace).verdict.name == "undecided"


def test_a_last_kernel_twice_as_long_as_all_else_weakens():
    trace = training_steps()
    last(trace, "kernel")["dur"] = 1.5 * MS

    assert found(trace)["outlasting-events"] == "warning"
    assert not is_strong(trace)


def test_a_long_kernel_that_the_host_waits_for_is_lawful():
    trace = training_steps(launches=60)
    trace.submit("long", 3700, start=3710, dur=1000)
    trace.call("cudaDeviceSynchronize", 3800, 930)

    assert found(trace) == {}


def test_an_operator_of_a_thousand_seconds_voids():
    trace = training_steps()
    [event for event in trace.events if event["cat"] == "cpu_op"][12]["dur"] = 1000 * S

    assert found(trace)["outlasting-events"] == "fatal"


def test_the_update_in_which_the_recording_was_stopped_is_lawful():
    """Marks at an optimizer's hook stop the profiler inside the range of that update."""
    trace = training_steps()
    begin = max(event["ts"] for event in trace.events)
    trace.range("Optimizer.step#SGD.step", begin, 160 * MS)

    assert found(trace) == {}
    assert is_strong(trace)


def test_a_batch_of_a_thousand_seconds_voids():
    trace = training_steps()
    begin = max(event["ts"] for event in trace.events)
    trace.range("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", begin, 1000 * S)

    assert found(trace)["outlasting-events"] == "fatal"


def test_a_step_of_a_thousand_seconds_voids():
    trace = training_steps()
    last(trace, "user_annotation")["dur"] = 1000 * S

    assert found(trace)["outlasting-events"] == "fatal"


def test_an_operator_that_outlasts_its_step_weakens():
    """An operator is called inside a step, so it cannot end after it."""
    trace = training_steps()
    [event for event in trace.events if event["cat"] == "cpu_op"][2]["dur"] = 250

    assert found(trace)["crossing-events"] == "warning"
    assert not is_strong(trace)


def test_one_kernel_that_is_most_of_the_device_time_weakens():
    trace = training_steps(launches=40)
    kernels = [event for event in trace.events if event["cat"] == "kernel"]
    trace.events.remove(kernels[60])
    trace.kernel("long", kernels[60]["ts"], 2100, launch=kernels[60]["args"]["correlation"])
    trace.call("cudaDeviceSynchronize", 3450, 1000)

    assert found(trace)["one-long-event"] == "warning"
    assert not is_strong(trace)


def test_a_long_kernel_in_each_step_is_the_program():
    trace = training_steps(launches=10)
    for event in [e for e in trace.events if e["cat"] == "kernel"][9::10]:
        event["dur"] = 150

    assert "one-long-event" not in found(trace)


# --- Events without a length ----------------------------------------------------------------------


def test_kernels_that_all_last_no_time_void():
    trace = training_steps(kernel=0)

    assert found(trace) == {"no-length": "fatal"}
    assert diagnosis_of(trace).verdict.name == "undecided"


@pytest.mark.parametrize(
    ("rows", "severity"), [(1, "info"), (5, "warning"), (25, "fatal")], ids=str
)
def test_kernels_without_a_duration_are_of_unknown_length(rows, severity):
    trace = training_steps(launches=10)
    for event in [e for e in trace.events if e["cat"] == "kernel"][:rows]:
        del event["dur"]

    assert found(trace) == {"no-length": severity}
    assert is_strong(trace) == (severity == "info")


# --- Steps ----------------------------------------------------------------------------------------


def test_a_recording_without_any_step_says_so():
    trace = Trace()
    for row in range(30):
        trace.submit(f"kernel {row}", 20 * row, start=20 * row + 10, dur=5)
    trace.metadata = {}

    assert "no-steps" in {finding.id for finding in diagnosis_of(trace).quality}
    assert "no-steps" not in {q.id for q in diagnosis_of(training_steps()).quality}


# --- Clocks ---------------------------------------------------------------------------------------


def run(offset=0.0, *, sync=True, ops=20):
    """A small launch-bound loop, its device clock ``offset`` us off."""
    world = World()
    for _ in world.steps(3):
        for _ in range(ops):
            world.python(4)
            world.op(20, kernel=3)
        if sync:
            world.sync()
    trace = world.finish()
    for event in trace.events:
        if event["cat"] in ("kernel", "gpu_memcpy"):
            event["ts"] += offset
    return trace


def test_sound_clocks_say_nothing():
    assert found(run()) == {}


def test_a_device_clock_that_is_late_is_told():
    """Every kernel starts long after its launch although the device is idle."""
    trace = run(100, sync=False)

    assert found(trace)["late-clock"] == "warning"
    assert not is_strong(trace)


def test_a_wait_that_returns_before_what_it_waits_for_is_told():
    trace = run(100)

    assert found(trace)["early-return"] == "warning"
    assert not is_strong(trace)


def test_a_small_offset_in_long_steps_is_only_told():
    assert found(run(100, ops=400))["early-return"] == "info"


def test_a_wait_beside_several_devices_proves_nothing():
    """It waits for the current device alone, which the recording does not name."""
    trace = run()
    trace.kernel(ELEMENTWISE, 5, 40 * MS, device=1)

    assert "early-return" not in found(trace)


def test_launches_onto_a_busy_device_say_nothing_about_its_clock():
    trace = Trace()
    for row in range(40):
        trace.submit("gemm", row * 10, start=10 + row * 100, dur=99)

    assert "late-clock" not in found(trace)


def test_a_tenth_of_the_host_events_a_day_off_void():
    trace = training_steps(launches=20)
    for event in [e for e in trace.events if e["cat"] == "cpu_op"][1::3]:
        event["ts"] += 86_400 * S

    assert found(trace)["bad-clock"] == "fatal"


def test_one_host_event_a_day_off_weakens():
    trace = training_steps(launches=20)
    last(trace, "cpu_op")["ts"] += 86_400 * S

    assert found(trace)["bad-clock"] == "warning"
    assert not is_strong(trace)


# --- Waits that left no record --------------------------------------------------------------------


def draining_steps(gap=30):
    """Steps that queue 20 ms of work at once and go on ``gap`` us after it is done."""
    trace = Trace()
    for number in range(4):
        begin = number * (20 * MS + gap)
        trace.step(number + 1, begin, 20 * MS + gap)
        for row in range(4):
            op = trace.op("aten::mm", begin + 10 * row, 8, dims=[[64, 64], [64, 64]])
            start = begin + 20 + row * 4.99 * MS
            trace.submit("gemm", begin + 10 * row + 2, start=start, dur=4.99 * MS, op=op)
    return trace


def test_gaps_that_end_when_the_device_has_drained_are_waits_without_a_record():
    trace = draining_steps()

    assert found(trace)["unrecorded-wait"] == "warning"
    assert diagnosis_of(trace).verdict.strength == "weak"


def test_a_recording_that_holds_waits_lacks_none():
    trace = draining_steps()
    trace.call("cudaDeviceSynchronize", 90 * MS, 5)

    assert "unrecorded-wait" not in found(trace)


def test_gaps_that_outlast_the_queue_are_the_hosts_own():
    assert "unrecorded-wait" not in found(draining_steps(gap=5 * MS))


# --- Steps and estimates that rest on the replay --------------------------------------------------


def test_steps_found_by_their_period_are_told_with_their_number():
    trace = training_steps()
    trace.events = [e for e in trace.events if not e["name"].startswith("ProfilerStep")]
    diagnosis = diagnosis_of(trace)
    told = [q for q in diagnosis.quality if q.id == "steps-by-period"]

    assert [(q.severity, q.count) for q in told] == [("info", diagnosis.steps.count)]
    assert "steps-by-period" not in {q.id for q in diagnosis_of(training_steps()).quality}


@pytest.mark.parametrize(
    ("estimate", "told", "is_found"),
    [(10.5, None, True), (10.1, None, False), (9.0, None, False), (10.5, 10.0, False)],
)
def test_an_estimate_above_the_recorded_step_is_told(estimate, told, is_found, monkeypatch):
    def observed(timeline, program, calibrated, parts):
        found = observe(timeline, program, calibrated, parts)
        within = Estimate(estimate, estimate, estimate)
        return replace(found, steps=replace(found.steps, drained_ms=10.0, unprofiled_ms=within))

    monkeypatch.setattr("boundby.diagnose.observe", observed)
    monkeypatch.setattr("boundby.diagnose.ANOTHER_PROGRAM", float("inf"))
    found = diagnose(read(training_steps()), Options(step_ms=told)).quality

    assert ("estimate-above-observed" in {q.id for q in found}) == is_found


@pytest.mark.parametrize("length", [0, 900])
def test_calls_without_length_cover_no_gap(length):
    trace = Trace()
    for number in range(6):
        launch = trace.call("cudaLaunchKernel", 1000 * number, 0)
        trace.kernel("kernel", 1000 * number + 3, length, launch=launch)

    assert "unrecorded-wait" not in found(trace)
