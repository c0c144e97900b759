"""The engine against small cases worked out by hand, and against a naive reading of its rules."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from boundby.replay.engine import replay
from boundby.replay.program import ALL_WORK, NOTHING, PointKind
from boundby.replay.steptime import drained_ns, steady_ns, submit_ns
from strategies import programs
from worlds import Script

NEVER_LONG = 10**9


def reference(program, repeats=1):
    """Start and end of each item, host time after each point, finish: one rule after the other."""
    points, work = program.points, program.work
    now, free, finish = 0, {}, []
    start, end, after_point, queue = {}, {}, {}, []
    for _ in range(repeats):
        for point in range(len(points.kind)):
            now += int(points.host[point].sum())
            target = int(points.target[point])
            if points.kind[point] == PointKind.LAUNCH:
                if len(queue) >= program.queue_limit:
                    now = max(now, queue[-program.queue_limit])
                stream = int(work.stream[target])
                ready = [now + work.latency[target], free.get(stream, 0) + work.lead[target]]
                if work.after[target] != NOTHING:
                    ready.append(end[int(work.after[target])])
                start[target] = int(max(ready))
                end[target] = free[stream] = start[target] + int(work.dur[target])
                queue.append(end[target])
            elif points.kind[point] == PointKind.WAIT and target != NOTHING:
                done = max(free.values(), default=0) if target == ALL_WORK else end[target]
                now = max(now, done + int(points.wake[point]))
            after_point[point] = now
        finish.append(max(now, *free.values(), 0) if free else now)
    return [dict(sorted(d.items())) for d in (start, end, after_point)], finish


def times(replayed):
    return [
        dict(enumerate(column.tolist()))
        for column in (replayed.start, replayed.end, replayed.point)
    ], list(replayed.finish)


@settings(max_examples=150, derandomize=True)
@given(program=programs(), repeats=st.integers(1, 3))
def test_replaying_follows_the_rules(program, repeats):
    assert times(replay(program, repeats)) == reference(program, repeats)


@settings(max_examples=150, derandomize=True)
@given(program=programs(), repeats=st.integers(1, 3), long_stretch=st.sampled_from([1, 2, 5]))
def test_stretches_in_numpy_and_point_by_point_agree(program, repeats, long_stretch):
    in_numpy = replay(program, repeats, long_stretch=long_stretch)

    assert times(in_numpy) == times(replay(program, repeats, long_stretch=NEVER_LONG))


@pytest.mark.parametrize("long_stretch", [1, NEVER_LONG])
def test_a_long_program_agrees_with_its_reference(long_stretch):
    draw = np.random.default_rng(0)
    script = Script()
    for _ in range(2000):
        script.launch(
            int(draw.integers(1, 9)),
            int(draw.integers(1, 14)),
            stream=int(draw.integers(0, 2)),
            latency=4,
            lead=1,
        )
        if draw.random() < 0.01:
            script.wait(3, wake=10)
    program = script.program(queue_limit=100)

    assert times(replay(program, 2, long_stretch=long_stretch)) == reference(program, 2)


# --- Worked out by hand ---------------------------------------------------------------------------


def test_a_slow_host_sets_the_pace():
    script = Script()
    for _ in range(3):
        script.launch(10, 4, latency=2)

    replayed = replay(script.program())

    assert replayed.start.tolist() == [12, 22, 32]
    assert replayed.finish == (36,)


def test_a_slow_device_sets_the_pace_and_the_host_runs_ahead():
    script = Script()
    for _ in range(3):
        script.launch(10, 40, latency=2, lead=1)

    replayed = replay(script.program())

    assert replayed.start.tolist() == [12, 53, 94]
    assert replayed.point.tolist() == [10, 20, 30, 30]
    assert replayed.finish == (134,)


def test_streams_run_side_by_side():
    script = Script()
    script.launch(10, 40, stream=0)
    script.launch(10, 40, stream=1)

    assert replay(script.program()).start.tolist() == [10, 20]


def test_work_waits_for_work_of_another_stream():
    script = Script()
    first = script.launch(10, 40, stream=0)
    script.launch(10, 5, stream=1, after=first)

    assert replay(script.program()).start.tolist() == [10, 50]


@pytest.mark.parametrize(
    ("target", "wake", "goes_on"),
    [
        pytest.param(0, 5, 45 + 5, id="for the first"),
        pytest.param(1, 5, 105 + 5, id="for the second"),
        pytest.param(ALL_WORK, 5, 105 + 5, id="for all"),
        pytest.param(NOTHING, 5, 23, id="for nothing: its cost is host time alone"),
        pytest.param(0, -30, 23, id="that a copy lets go before the device is done"),
    ],
)
def test_a_wait_holds_the_host(target, wake, goes_on):
    script = Script()
    script.launch(5, 40, stream=0)
    script.launch(15, 85, stream=1)
    script.wait(3, target, wake)

    assert replay(script.program()).point.tolist()[2] == goes_on


def test_a_wait_for_what_is_long_done_costs_its_host_time_alone():
    script = Script()
    script.launch(5, 10)
    script.wait(100, 0, wake=10)

    assert replay(script.program()).point.tolist()[1] == 105


def test_a_full_queue_holds_the_launch():
    script = Script()
    for _ in range(4):
        script.launch(1, 100)

    replayed = replay(script.program(queue_limit=2))

    assert replayed.point.tolist()[:4] == [1, 2, 101, 201]  # the third waits for the first
    assert replayed.finish == (401,)


def test_an_empty_program_takes_its_host_time():
    script = Script()
    script.end_step(50)

    assert replay(script.program()).finish == (50,)


# --- Step times -----------------------------------------------------------------------------------


def run_ahead(steps=3):
    """Each step takes the host 100 ns and the device 1,000."""
    script = Script()
    for _ in range(steps):
        script.launch(100, 1000, latency=50)
        script.end_step()
    return script.program()


def test_a_program_that_runs_ahead_is_drained_at_the_end_and_steady_in_the_middle():
    assert drained_ns(run_ahead()) == (150 + 3 * 1000) / 3
    assert steady_ns(run_ahead()) == 1000


def test_a_program_that_the_host_paces_is_steady_without_its_last_kernel():
    script = Script()
    for _ in range(3):
        script.launch(1000, 100, latency=50)
        script.end_step()

    assert drained_ns(script.program()) == (3 * 1000 + 150) / 3
    assert steady_ns(script.program()) == 1000


def test_submitting_is_over_when_the_first_step_returns():
    assert submit_ns(run_ahead()) == 100


@settings(max_examples=100, derandomize=True)
@given(program=programs())
def test_a_steady_step_is_never_longer_than_a_drained_one(program):
    assert steady_ns(program) <= drained_ns(program)


@settings(max_examples=100, derandomize=True)
@given(program=programs(), factor=st.integers(2, 1000))
def test_time_has_no_scale(program, factor):
    points, work = program.points, program.work
    slower = replace(
        program,
        points=replace(points, host=points.host * factor, wake=points.wake * factor),
        work=replace(
            work,
            dur=work.dur * factor,
            latency=work.latency * factor,
            lead=work.lead * factor,
        ),
    )

    assert replay(slower, 2).finish == tuple(f * factor for f in replay(program, 2).finish)
