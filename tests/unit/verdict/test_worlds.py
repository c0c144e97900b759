"""A tiny program for each class, and for each reason not to name one."""

import pytest

from boundby.report.terminal import Look
from boundby.report.text import render
from builders import Trace
from worlds import ALL_REDUCE, ELEMENTWISE, GEMM, LOADER, World, diagnosis_of, share

HOST = ("data", "sync", "python", "submission")


def loop(body, *, steps=3, **hardware):
    """Diagnosis and world of a loop whose step is ``body(world)``."""
    world = World(**hardware)
    for _ in world.steps(steps):
        body(world)
    return diagnosis_of(world.finish())


def repeat(times, *verbs):
    def body(world):
        for _ in range(times):
            for verb in verbs:
                verb(world)

    return body


def op(host, kernel, work=ELEMENTWISE, **how):
    return lambda world: world.op(host, kernel=kernel, work=work, **how)


def python(dur):
    return lambda world: world.python(dur)


def item(world):
    world.item()


def sync(world):
    world.sync()


# --- One world a class ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "name", "cause", "part"),
    [
        pytest.param(
            repeat(20, python(2), op(25, 2)), "launch-bound", None, "submission", id="submission"
        ),
        pytest.param(
            repeat(20, python(100), op(25, 2)), "python-bound", None, "python", id="python"
        ),
        pytest.param(repeat(20, op(25, 60), item), "sync-bound", "item", "sync", id="item"),
        pytest.param(
            repeat(20, op(25, 60), sync),
            "sync-bound",
            "explicit-sync",
            "sync",
            id="explicit",
        ),
        pytest.param(
            lambda w: (w.load(3000), repeat(20, op(25, 20))(w)),
            "sync-bound",
            "data-loading",
            "data",
            id="loader",
        ),
        pytest.param(repeat(20, op(25, 200)), "memory-bound", None, "device-memory", id="memory"),
        pytest.param(
            repeat(20, op(25, 200, GEMM)), "compute-bound", None, "device-compute", id="compute"
        ),
        pytest.param(
            repeat(20, op(25, 200, ALL_REDUCE), op(25, 50, GEMM)),
            "communication-bound",
            None,
            "device-communication",
            id="communication",
        ),
        pytest.param(
            repeat(2, lambda w: w.upload(staging=10, copy=2000), op(25, 20)),
            "sync-bound",
            "host-copy",
            "device-copy",
            id="upload",
        ),
    ],
)
def test_a_clear_program_has_a_strong_verdict(body, name, cause, part):
    diagnosis = loop(body)

    assert (diagnosis.verdict.name, diagnosis.verdict.cause) == (name, cause)
    assert diagnosis.verdict.strength == "strong"
    assert share(diagnosis, part) >= 0.2
    assert all(share(diagnosis, other) <= share(diagnosis, part) for other in HOST)
    assert diagnosis.path is not None


def test_the_update_that_makes_most_launches_is_the_cause():
    def body(world):
        repeat(3, op(25, 2))(world)
        begin = world.now
        repeat(20, op(25, 2))(world)
        world.trace.range("Optimizer.step#Adam.step", begin, world.now - begin)

    verdict = loop(body).verdict

    assert (verdict.name, verdict.cause) == ("launch-bound", "optimizer")


def test_hidden_communication_bounds_nothing():
    def body(world):
        for _ in range(10):
            world.op(15, kernel=200, work=GEMM, stream=7)
            world.op(15, kernel=190, work=ALL_REDUCE, stream=9)

    assert loop(body).verdict.name == "compute-bound"


def test_preprocessing_inside_the_loader_is_data_loading_and_inline_it_is_python():
    def inside(world):
        begin = world.now
        world.python(3000)
        world.trace.range(LOADER, begin, 3000)
        repeat(20, op(25, 20))(world)

    def inline(world):
        world.python(3000)
        repeat(20, op(25, 20))(world)

    assert loop(inside).verdict.cause == "data-loading"
    assert loop(inline).verdict.name == "python-bound"


# --- Cases that contradict the rule of thumb ------------------------------------------------------


def test_many_waits_on_a_deep_queue_cost_nothing():
    def body(world):
        repeat(40, op(25, 300, GEMM))(world)
        repeat(4, item)(world)

    diagnosis = loop(body)

    assert diagnosis.device.syncs_per_step >= 3
    assert share(diagnosis, "sync") < 0.02
    assert diagnosis.verdict.name == "compute-bound"


def test_the_same_waits_on_a_shallow_queue_cost_the_step():
    diagnosis = loop(repeat(4, repeat(5, op(25, 30, GEMM)), item))

    assert diagnosis.verdict.name == "sync-bound"
    assert share(diagnosis, "sync") > 0.1


def test_a_loader_that_is_slower_than_nothing_but_faster_than_the_device_costs_nothing():
    def body(world):
        world.load(500)
        repeat(20, op(25, 200, GEMM))(world)

    diagnosis = loop(body)

    assert share(diagnosis, "data") < 0.01
    assert diagnosis.verdict.name == "compute-bound"


def test_long_launch_calls_that_wait_for_a_full_queue_are_no_submission():
    diagnosis = loop(repeat(700, op(20, 45)), steps=3)

    assert diagnosis.host.launch_call_share > 0.3  # as recorded
    assert share(diagnosis, "submission") < 0.01
    assert diagnosis.verdict.name == "memory-bound"


def test_a_device_that_looks_idle_under_the_profiler_is_busy_without_it():
    measured_ms = 20 * 0.051
    body = repeat(20, op(90, 50))

    world = World()
    for _ in world.steps(3):
        body(world)
    trace = world.finish()

    assert diagnosis_of(trace).device.busy_share_observed < 0.6
    diagnosis = diagnosis_of(trace, step_ms=measured_ms)
    assert diagnosis.device.busy_share_unprofiled > 0.95
    assert diagnosis.verdict.name == "memory-bound"


def test_a_long_wait_at_the_end_of_the_recording_is_the_recordings():
    world = World()
    for _ in world.steps(3):
        repeat(20, op(25, 200, GEMM))(world)
    world.sync()

    assert diagnosis_of(world.finish(sync=False)).verdict.name == "compute-bound"


def test_two_costs_that_lie_close_together_make_no_strong_verdict():
    diagnosis = loop(repeat(20, python(24), op(32, 2)))

    assert share(diagnosis, "python") == pytest.approx(share(diagnosis, "submission"), abs=0.05)
    assert diagnosis.verdict.strength != "strong"


# --- Undecided ------------------------------------------------------------------------------------


def healthy(launches=12):
    """Operators 50 us apart, a launch and a kernel each."""
    trace = Trace()
    trace.step(1, at=0, dur=50 * launches)
    for number in range(launches):
        op = trace.op("aten::mul", at=50 * number, dur=40)
        trace.submit(ELEMENTWISE, at=50 * number + 5, start=50 * number + 15, dur=20, op=op)
    return trace


def kernels(trace):
    return [event for event in trace.events if event["cat"] == "kernel"]


def launch_calls(trace):
    return [event for event in trace.events if event["name"] == "cudaLaunchKernel"]


def without(trace, events):
    trace.events = [event for event in trace.events if event not in events]
    return trace


def no_kernels():
    trace = healthy()
    return without(trace, kernels(trace))


def capture_only():
    trace = no_kernels()
    trace.call("cudaStreamBeginCapture_v10000", at=0, dur=1)
    trace.call("cudaStreamEndCapture", at=599, dur=1)
    return trace


def device_unused():
    trace = Trace()
    trace.op("aten::mm", at=0, dur=100)
    return trace


def cpu_only():
    trace = device_unused()
    del trace.metadata["deviceProperties"]
    return trace


def too_little_device_work():
    trace = healthy(launches=2)
    trace.op("aten::mm", at=1000, dur=50_000)
    return trace


def graph_not_recorded():
    trace = healthy()
    for number in range(5):
        trace.launch(at=600 + 10 * number, name="cudaGraphLaunch")
    return trace


def no_host_events():
    trace = Trace()
    trace.events = kernels(healthy())
    return trace


def cold_start():
    trace = healthy()
    trace.launch(at=600, dur=30_000)
    trace.kernel("kernel", at=30_610, dur=20, launch=trace.last_id)
    return trace


def unrecorded_wait():
    trace = healthy()
    trace.call("cudaDeviceSynchronize", at=700, dur=5000)
    return trace


def kernel_before_launch():
    trace = healthy()
    for kernel in kernels(trace)[:4]:
        kernel["ts"] -= 14
    return trace


def kernels_without_launch():
    trace = healthy()
    return without(trace, launch_calls(trace)[4:9])


def launches_without_kernels():
    trace = healthy()
    return without(trace, kernels(trace)[4:9])


def late_device():
    trace = healthy()
    for kernel in kernels(trace):
        kernel["ts"] += 5000
    return trace


def kernel_longer_than_recording():
    trace = healthy()
    for kernel in kernels(trace)[:6]:
        kernel["dur"] = 10**9
    return trace


UNDECIDED = [
    no_kernels,
    capture_only,
    device_unused,
    cpu_only,
    too_little_device_work,
    graph_not_recorded,
    no_host_events,
    cold_start,
    unrecorded_wait,
    kernel_before_launch,
    kernels_without_launch,
    launches_without_kernels,
    late_device,
    kernel_longer_than_recording,
]


def test_the_healthy_recording_is_decided():
    assert diagnosis_of(healthy()).verdict.name != "undecided"


@pytest.mark.parametrize("spoilt", UNDECIDED, ids=lambda spoilt: spoilt.__name__)
def test_a_recording_that_cannot_carry_a_verdict_is_undecided_with_the_reason(spoilt):
    diagnosis = diagnosis_of(spoilt())
    verdict = diagnosis.verdict
    fatal = [q for q in diagnosis.quality if q.severity == "fatal"]

    assert verdict.name == "undecided"
    assert spoilt.__name__.replace("_", "-") in {q.id for q in fatal}
    assert verdict.undecided_reason == fatal[0].message
    assert (verdict.cause, verdict.strength, verdict.runner_up) == (None, None, None)


@pytest.mark.parametrize("spoilt", UNDECIDED, ids=lambda spoilt: spoilt.__name__)
def test_a_measured_step_is_kept_without_a_verdict_and_nothing_follows_from_it(spoilt):
    diagnosis = diagnosis_of(spoilt(), step_ms=2.0)
    step = diagnosis.steps.unprofiled_ms

    assert diagnosis.verdict.name == "undecided"
    assert (step.estimate, step.low, step.high) == (2.0, 1.96, 2.04)
    assert diagnosis.calibration.source == "step-ms"
    assert diagnosis.calibration.host_scale is None
    assert diagnosis.device.busy_share_unprofiled is None
    assert diagnosis.waterfall == diagnosis.what_if == diagnosis.ladder == ()
    assert diagnosis.prescriptions == ()


@pytest.mark.parametrize("spoilt", UNDECIDED, ids=lambda spoilt: spoilt.__name__)
def test_without_a_verdict_nothing_is_estimated_or_advised(spoilt):
    diagnosis = diagnosis_of(spoilt())

    assert diagnosis.steps.unprofiled_ms is None
    assert diagnosis.device.busy_share_unprofiled is None
    assert diagnosis.waterfall == ()
    assert diagnosis.what_if == ()
    assert diagnosis.ladder == ()
    assert diagnosis.prescriptions == ()
    assert diagnosis.path is None
    assert [c.command for c in diagnosis.next] == ["boundby explain undecided"]


def test_a_sound_recording_whose_steps_launch_nothing_is_undecided():
    trace = Trace()
    trace.step(1, at=0, dur=40)
    trace.step(2, at=40, dur=40)
    for number in range(12):
        trace.submit("kernel", at=100 + 50 * number, start=110 + 50 * number, dur=20)
    diagnosis = diagnosis_of(trace)

    assert diagnosis.verdict.name == "undecided"
    assert "joined to a launch" in diagnosis.verdict.undecided_reason
    assert diagnosis.steps.drained_ms is None


# --- What the recording does not hold -------------------------------------------------------------


def without_operators(body):
    world = World()
    for _ in world.steps(3):
        body(world)
    trace = world.finish()
    trace.events = [event for event in trace.events if event["cat"] != "cpu_op"]
    return diagnosis_of(trace)


def test_without_operators_python_and_submission_look_alike():
    diagnosis = without_operators(repeat(20, python(2), op(25, 2)))

    assert diagnosis.verdict.name == "undecided"
    assert "no operators are recorded" in diagnosis.verdict.undecided_reason


@pytest.mark.parametrize(
    ("body", "name"),
    [
        pytest.param(repeat(20, python(2), op(12, 2)), "launch-bound", id="launch calls lead"),
        pytest.param(repeat(20, op(25, 200)), "memory-bound", id="a busy device"),
        pytest.param(repeat(20, op(25, 60), sync), "sync-bound", id="waits"),
    ],
)
def test_without_operators_everything_else_is_known(body, name):
    assert without_operators(body).verdict.name == name


def test_a_loop_of_graph_replays_needs_no_operators():
    def body(world):
        world.python(900)
        world.graph([2] * 100)

    diagnosis = without_operators(body)

    assert diagnosis.verdict.name == "python-bound"


def test_a_device_alone_has_no_work_per_step_and_is_not_said_to_have_none():
    world = World()
    for _ in world.steps(3):
        repeat(20, op(25, 200))(world)
    trace = world.finish()
    trace.events = [event for event in trace.events if event["cat"] == "kernel"]

    diagnosis = diagnosis_of(trace)
    text = render(diagnosis, Look())

    device = diagnosis.device
    assert (device.ms_per_step, device.events_per_step, device.launches_per_step) == (None,) * 3
    assert device.busy_share_observed == pytest.approx(1, abs=0.02)
    assert "device     busy 100% as recorded; NVIDIA H200" in text
    assert "0 ms" not in text
