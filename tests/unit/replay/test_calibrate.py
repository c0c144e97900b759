"""The observer is subtracted from what it slows, and a measured step is met."""

import pytest

from boundby.replay.calibrate import calibrate
from boundby.replay.steptime import steady_ns
from boundby.timeline.hostline import LineKind
from worlds import ELEMENTWISE, LOADER, World, diagnosis_of, program_of, timeline_of


def small_ops(world):
    """A step of 20 small operators; under the profiler 35 us each."""
    for _ in range(20):
        world.python(3)
        world.op(35, kernel=2)


def recorded(*bodies, steps=3, **hardware):
    world = World(**hardware)
    for _ in world.steps(steps):
        for body in bodies:
            body(world)
    return world.finish()


def calibrated(trace, **known):
    timeline = timeline_of(trace)
    return calibrate(timeline, program_of(trace), **known)


def estimate(trace, **known):
    return calibrated(trace, **known).step.estimate


# --- From the trace alone -------------------------------------------------------------------------


def test_an_operator_that_works_on_the_host_is_not_the_profilers_cost():
    def cpu_optimizer(world):
        begin = world.now
        world.python(60_000)
        world.trace.op("DeepSpeedCPUAdam", begin, 60_000)

    alone = calibrated(recorded(small_ops)).step
    both = calibrated(recorded(small_ops, cpu_optimizer)).step

    assert both.estimate - alone.estimate == pytest.approx(60, rel=0.02)
    assert both.low > 40


def test_python_that_the_tracer_slows_inside_an_operator_is_not_its_own_work():
    def compiled(world):
        begin = world.now
        for row in range(3000):
            world.trace.frame("wrapper.py(3): call", begin + 1.5 * row, 1)
        world.now += 4500
        world.trace.op("CompiledFunction", begin, 4500)

    assert calibrated(recorded(small_ops, compiled)).step.estimate < 1


def test_many_short_operators_stay_what_the_profiler_slows():
    def views(world):
        begin = world.now
        for _ in range(200):
            world.trace.op("aten::view", world.now, 9)
            world.now += 10
        world.trace.op("aten::einsum", begin - 1, world.now - begin + 2)

    assert calibrated(recorded(small_ops, views)).step.estimate < 0.6


def test_small_operators_take_less_without_the_profiler():
    trace = recorded(small_ops)
    found = calibrated(trace)

    assert found.calibration.source == "prior"
    assert found.calibration.host_scale < 1
    assert found.step.low < found.step.estimate < found.step.high
    assert found.step.estimate < diagnosis_of(trace).steps.steady_ms


def test_the_profiler_makes_no_host_faster():
    """Python between launches that hide no bookkeeping: nothing is added to what was recorded."""
    trace = recorded(lambda w: [(w.python(400), w.launch(2)) for _ in range(20)])
    found = calibrated(trace)

    assert found.step.estimate <= diagnosis_of(trace).steps.steady_ms


def test_a_device_bound_step_takes_what_it_took():
    trace = recorded(lambda w: [w.op(20, kernel=100) for _ in range(20)])

    assert estimate(trace) == pytest.approx(20 * 0.101, rel=0.001)


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        pytest.param(lambda w: w.load(700), LineKind.LOADER, id="loader"),
        pytest.param(lambda w: w.malloc(700), LineKind.ALLOCATOR, id="allocator"),
        pytest.param(lambda w: w.sync(cost=700), LineKind.SYNC, id="wait"),
    ],
)
def test_what_the_profiler_does_not_slow_is_not_scaled(body, kind):
    trace = recorded(small_ops, body, small_ops)

    assert calibrated(trace).clean.host_ns[kind] == program_of(trace).host_ns[kind]


def test_the_profilers_own_work_is_not_the_programs():
    plain, burdened = World(), World()
    for world in (plain, burdened):
        for _ in world.steps(3):
            small_ops(world)
            if world is burdened:
                world.trace.overhead(world.now, 400)
                world.python(400)

    assert estimate(burdened.finish()) == pytest.approx(estimate(plain.finish()), rel=0.01)


def test_the_program_is_busier_than_it_looked():
    device = diagnosis_of(recorded(small_ops)).device

    assert device.busy_share_unprofiled > device.busy_share_observed


def test_recorded_python_frames_cost_time_that_is_taken_off():
    def framed(world):
        small_ops(world)
        for _ in range(300):
            world.trace.frame("train.py(12): helper", world.now, 2)
            world.python(2)

    def plain(world):
        small_ops(world)
        world.python(600)

    assert estimate(recorded(framed)) < 0.8 * estimate(recorded(plain))


def test_frames_inside_the_loader_are_the_loaders():
    def loading(world, frames):
        begin = world.now
        for _ in range(frames):
            world.trace.frame("dataset.py(12): __getitem__", world.now, 2)
            world.python(2)
        world.now = begin
        world.load(600)
        small_ops(world)

    assert estimate(recorded(lambda w: loading(w, 300))) == pytest.approx(
        estimate(recorded(lambda w: loading(w, 0)))
    )


def test_on_a_slower_host_everything_is_slower():
    fast = recorded(small_ops, call=9)
    slow = recorded(lambda w: [(w.python(6), w.op(70, kernel=2)) for _ in range(20)], call=18)

    assert estimate(slow) > 1.5 * estimate(fast)


# --- With a clean measurement ---------------------------------------------------------------------


@pytest.mark.parametrize("share", [0.45, 0.6, 0.8, 1.0])
def test_a_measured_step_is_met_by_the_host(share):
    trace = recorded(small_ops)
    measured = diagnosis_of(trace).steps.steady_ms * share
    found = calibrated(trace, step_ms=measured)

    assert found.calibration.source == "step-ms"
    assert found.step.estimate == pytest.approx(measured, rel=0.011)
    assert found.step.low <= measured <= found.step.high
    assert steady_ns(found.low) <= steady_ns(found.clean) <= steady_ns(found.high)


def test_the_range_of_a_measured_step_is_narrow():
    trace = recorded(small_ops)
    prior, measured = calibrated(trace).step, calibrated(trace, step_ms=0.5).step

    assert (measured.high - measured.low) < 0.3 * (prior.high - prior.low)


def loading(iterator=LOADER):
    return recorded(small_ops, lambda w: w.load(5000, iterator))


def test_a_measured_step_of_a_loader_bound_program_is_put_on_the_loader():
    trace = loading("enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__")
    found = calibrated(trace, step_ms=7.0)

    assert found.step.estimate == pytest.approx(7.0, rel=0.01)
    assert found.clean.host_ns[LineKind.LOADER] > 3 * 6_000_000
    assert found.calibration.host_scale == calibrated(trace).calibration.host_scale


@pytest.mark.parametrize("step_ms", [3.0, 7.0])
def test_the_host_shares_the_speed_of_a_loader_in_the_same_process(step_ms):
    found = calibrated(loading(), step_ms=step_ms)

    assert found.step.estimate == pytest.approx(step_ms, rel=0.01)
    loader = found.clean.host_ns[LineKind.LOADER] / (3 * 5_000_000)
    host = found.calibration.host_scale / calibrated(loading()).calibration.host_scale
    assert host == pytest.approx(loader**0.5, rel=0.01)


def busy_device(world):
    for _ in range(20):
        world.op(20, kernel=100, work=ELEMENTWISE)


def test_a_longer_step_is_put_on_the_clocks_where_submission_was_measured():
    """A power cap slows steps on end, not the few of a trace; a slow host would have shown."""
    step = 2.02 * 1.15
    told = calibrated(recorded(busy_device), step_ms=step, submit_ms=0.4)

    assert told.step.estimate == pytest.approx(step, rel=0.01)
    assert told.clean.work.dur.max() == pytest.approx(115_000, rel=0.02)


def test_a_measured_step_of_a_device_bound_program_is_put_on_its_clock():
    trace = recorded(lambda w: [w.op(20, kernel=100, work=ELEMENTWISE) for _ in range(20)])
    slower = calibrated(trace, step_ms=2.02 * 1.1)

    assert slower.step.estimate == pytest.approx(2.02 * 1.1, rel=0.01)
    assert slower.clean.work.dur.max() == pytest.approx(110_000, rel=0.01)


def test_a_step_that_nothing_explains_stays_in_the_range_and_is_not_forced():
    trace = recorded(lambda w: [w.op(20, kernel=100, work=ELEMENTWISE) for _ in range(20)])
    step = calibrated(trace, step_ms=20.0).step

    assert step.estimate < 3
    assert step.high >= 20


def test_the_time_to_submit_sets_the_host():
    trace = recorded(lambda w: [w.op(40, kernel=60) for _ in range(20)])
    found = calibrated(trace, submit_ms=0.4)

    assert found.calibration.host_scale == pytest.approx(0.5, abs=0.03)
    assert found.step.estimate == pytest.approx(20 * 0.061, rel=0.01)


def test_the_time_to_submit_says_nothing_where_the_host_waits():
    trace = recorded(lambda w: [(w.op(40, kernel=500), w.sync()) for _ in range(5)])

    scale = calibrated(trace, submit_ms=2.7).calibration.host_scale
    assert scale == calibrated(trace).calibration.host_scale
