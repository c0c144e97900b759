"""What holds for every recording of a loop, from the trace to the diagnosis."""

import copy

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from strategies import OPS, Loop, loops
from worlds import World, diagnosis_of, share

FEW = settings(max_examples=12, derandomize=True)


def said(diagnosis):
    """All that a diagnosis says about the program."""
    return {
        field: getattr(diagnosis, field)
        for field in ("steps", "device", "host", "waterfall", "verdict", "what_if", "ladder")
    }


def ms_of(diagnosis, part):
    return next(p.ms for p in diagnosis.waterfall if p.part == part)


@FEW
@given(loop=loops())
def test_parts_sum_to_the_step_and_shares_to_one(loop):
    diagnosis = diagnosis_of(loop.run().finish())
    parts, shares = diagnosis.waterfall, diagnosis.device.shares

    assert sum(p.ms for p in parts) == pytest.approx(diagnosis.steps.unprofiled_ms.estimate)
    assert sum(p.share for p in parts) == pytest.approx(1, abs=1e-6)
    assert min(p.ms for p in parts) >= 0
    owners = (shares.compute, shares.communication, shares.copy, shares.memset, shares.idle)
    assert sum(owners) == pytest.approx(1, abs=1e-6)
    assert min(owners) >= -1e-12


@FEW
@given(loop=loops())
def test_every_range_holds_its_estimate_and_no_cure_lengthens_the_step(loop):
    diagnosis = diagnosis_of(loop.run().finish())
    step = diagnosis.steps.unprofiled_ms

    assert step.low <= step.estimate <= step.high
    for asked in diagnosis.what_if:
        assert asked.low <= asked.step_ms <= asked.high, asked.id
        if not asked.id.startswith("batch"):  # those give the step of a larger batch
            assert asked.step_ms <= step.estimate * (1 + 1e-9), asked.id
            assert asked.speedup == pytest.approx(step.estimate / asked.step_ms), asked.id


@FEW
@given(loop=loops())
def test_each_rung_of_the_ladder_is_no_higher_than_the_one_before(loop):
    diagnosis = diagnosis_of(loop.run().finish())
    rungs = [rung.step_ms for rung in diagnosis.ladder]

    assert rungs == sorted(rungs, reverse=True)
    assert rungs[0] <= diagnosis.steps.unprofiled_ms.estimate * (1 + 1e-9)


@FEW
@given(loop=loops())
def test_a_replay_without_edits_takes_as_long_as_the_loop_did(loop):
    world = loop.run()
    truth = world.done / 1000 / loop.steps

    assert diagnosis_of(world.finish()).steps.drained_ms == pytest.approx(truth, rel=0.02)


@FEW
@given(loop=loops(), measured=st.floats(0.5, 1.0))
def test_a_measured_step_is_met_where_the_host_can_explain_it(loop, measured):
    trace = loop.run().finish()
    observed = diagnosis_of(trace).steps.steady_ms
    step = diagnosis_of(trace, step_ms=observed * measured).steps.unprofiled_ms

    assert step.low <= step.estimate <= step.high
    assert step.low <= observed * measured <= step.high


# --- Invariances ----------------------------------------------------------------------------------


def changed(trace, change):
    """A copy of the trace with every event changed."""
    other = copy.deepcopy(trace)
    for event in other.events:
        change(event)
    return other


@FEW
@given(loop=loops(), by=st.integers(1, 10**9))
def test_when_it_was_recorded_does_not_matter(loop, by):
    trace = loop.run().finish()

    def later(event):
        event["ts"] += by

    assert said(diagnosis_of(changed(trace, later))) == said(diagnosis_of(trace))


@FEW
@given(loop=loops(), random=st.randoms(use_true_random=False))
def test_in_which_order_events_were_written_does_not_matter(loop, random):
    trace = loop.run().finish()
    shuffled = copy.deepcopy(trace)
    random.shuffle(shuffled.events)

    assert said(diagnosis_of(shuffled)) == said(diagnosis_of(trace))


@FEW
@given(loop=loops(), thread=st.one_of(st.integers(2, 10**6), st.just("MainThread")))
def test_what_threads_and_streams_are_called_does_not_matter(loop, thread):
    trace = loop.run().finish()

    def renamed(event):
        if "stream" in event["args"]:
            event["args"]["stream"] += 40
            event["tid"] += 40
        elif event["tid"] == 1:
            event["tid"] = thread

    assert said(diagnosis_of(changed(trace, renamed))) == said(diagnosis_of(trace))


@FEW
@given(loop=loops(), by=st.integers(1, 10**6))
def test_which_numbers_join_calls_and_kernels_does_not_matter(loop, by):
    trace = loop.run().finish()

    def renumbered(event):
        if "correlation" in event["args"]:
            event["args"]["correlation"] += by

    assert said(diagnosis_of(changed(trace, renumbered))) == said(diagnosis_of(trace))


@FEW
@given(loop=loops(), factor=st.sampled_from([2, 3]))
def test_on_a_slower_clock_everything_observed_scales_and_a_clear_verdict_stays(loop, factor):
    trace = loop.run().finish()

    def slower(event):
        event["ts"] *= factor
        event["dur"] *= factor

    once, scaled = diagnosis_of(trace), diagnosis_of(changed(trace, slower))

    assert scaled.steps.drained_ms == pytest.approx(once.steps.drained_ms * factor, rel=1e-3)
    assert scaled.device.ms_per_step == pytest.approx(once.device.ms_per_step * factor)
    assert scaled.device.busy_share_observed == pytest.approx(once.device.busy_share_observed)
    assert scaled.host.python_share == pytest.approx(once.host.python_share)
    if once.verdict.strength == "strong":
        assert scaled.verdict.name == once.verdict.name


# --- More and less --------------------------------------------------------------------------------


@FEW
@given(loop=loops(), at=st.integers(0, 20), wait=st.sampled_from(["item", "sync"]))
def test_more_waits_never_lower_the_sync_part(loop, at, wait):
    at %= len(loop.body) + 1
    more = Loop((*loop.body[:at], (wait,), *loop.body[at:]), loop.steps)

    before, after = (diagnosis_of(each.run().finish()) for each in (loop, more))
    assert ms_of(after, "sync") >= ms_of(before, "sync") - 1e-3


@FEW
@given(loop=loops(), more=st.integers(100, 2000))
def test_a_slower_loader_raises_the_data_part_by_no_more_than_its_time(loop, more):
    slower = Loop((*loop.body, ("load", more)), loop.steps)

    before, after = (diagnosis_of(each.run().finish()) for each in (loop, slower))
    raised = ms_of(after, "data") - ms_of(before, "data")
    assert -1e-3 <= raised <= more / 1000 + 1e-3


@FEW
@given(hosts=st.lists(st.integers(12, 60), min_size=6, max_size=12), steps=st.integers(2, 4))
def test_a_program_without_gaps_has_no_host_part(hosts, steps):
    world = World()
    for _ in world.steps(steps):
        for host in hosts:
            world.op(host, kernel=1.5 * host + 15)
    diagnosis = diagnosis_of(world.finish())

    assert share(diagnosis, "data", "sync", "python", "submission") < 0.005
    assert diagnosis.verdict.name == "memory-bound"


@FEW
@given(loop=loops(verbs=OPS))
def test_without_loader_waits_and_copies_those_parts_are_nothing(loop):
    diagnosis = diagnosis_of(loop.run().finish())

    assert share(diagnosis, "data", "sync", "device-copy") == 0
