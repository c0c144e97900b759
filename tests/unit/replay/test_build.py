"""A recording becomes a program that, replayed, takes as long as the recording shows."""

import numpy as np
import pytest

from boundby.replay.edits import no_sync
from boundby.replay.engine import replay
from boundby.replay.program import ALL_WORK, NOTHING, PointKind
from boundby.replay.steptime import drained_ns, steady_ns
from boundby.timeline.hostline import LineKind
from builders import STREAM, Trace
from worlds import Script, World, diagnosis_of, program_of


def host_us(program):
    """Host time by kind, waits for the device not included; kinds without any left out."""
    times = zip(LineKind, program.host_ns, strict=True)
    return {kind.name: float(time) / 1000 for kind, time in times if time}


def drained_us(program):
    return drained_ns(program) * program.steps / 1000


def steady_us(program):
    return steady_ns(program) / 1000


# --- Whole programs -------------------------------------------------------------------------------


def launches(world):
    for _ in range(8):
        world.python(3)
        world.op(25, kernel=2)


def device_bound(world):
    for _ in range(8):
        world.op(15, kernel=90)


def items(world):
    for _ in range(4):
        world.op(20, kernel=60)
        world.item()


def device_syncs(world):
    for _ in range(4):
        world.op(20, kernel=60)
        world.sync()
        world.python(10)


def loader(world):
    world.load(400)
    launches(world)


def uploads(world):
    world.upload(staging=120, copy=300)
    launches(world)


def graphs(world):
    world.python(20)
    world.graph([5, 7, 9], gap=2)
    world.op(30, kernel=4)


def allocations(world):
    world.malloc(150)
    launches(world)
    world.sync()


def two_streams(world):
    for _ in range(6):
        world.op(20, kernel=35, stream=7)
        world.op(20, kernel=35, stream=9)


@pytest.mark.parametrize(
    "body",
    [
        launches,
        device_bound,
        items,
        device_syncs,
        loader,
        uploads,
        graphs,
        allocations,
        two_streams,
    ],
    ids=lambda body: body.__name__,
)
def test_a_drained_replay_takes_as_long_as_the_steps_did(body):
    world = World()
    for _ in world.steps(3):
        body(world)
    truth = world.done

    assert drained_us(program_of(world.finish())) == pytest.approx(truth, rel=0.02)


# --- Steps ----------------------------------------------------------------------------------------


def test_each_step_ends_with_a_point_of_its_own():
    world = World()
    for _ in world.steps(2):
        world.op(20, kernel=5)
        world.python(30)
    program = program_of(world.finish())

    assert program.steps == 2
    assert program.points.kind.tolist() == [PointKind.LAUNCH, PointKind.STEP_END] * 2
    assert program.points.step.tolist() == [0, 0, 1, 1]


def test_the_time_between_steps_that_were_not_recorded_is_no_host_time():
    trace = Trace()
    for number, at in ((1, 0), (2, 100), (9, 5000)):
        trace.step(number, at=at, dur=100)
        trace.submit("kernel", at=at + 50, start=at + 60, dur=5)

    assert host_us(program_of(trace)) == {"LAUNCH": 15, "PYTHON": 285}


def test_work_launched_outside_the_steps_is_not_in_the_program():
    trace = Trace()
    trace.submit("warm-up", at=0, start=10, dur=500)
    trace.step(1, at=100, dur=100)
    trace.submit("kernel", at=150, start=510, dur=5)
    trace.submit("after", at=300, start=515, dur=500)

    assert program_of(trace).work.dur.tolist() == [5000]


def test_a_recording_without_launches_in_steps_has_an_empty_program():
    trace = Trace()
    trace.step(1, at=0, dur=100)
    trace.op("aten::mm", at=10, dur=50)
    program = program_of(trace)

    assert len(program.work) == 0
    assert len(program.points.kind) == 0


def test_long_recordings_are_represented_by_their_middle_steps():
    script = Script()
    for step in range(10):
        script.launch(10, 100 + step)
        script.wait(1, step)
        script.end_step()
    middle = script.program().middle(most_points=12)

    assert middle.steps == 4
    assert middle.work.dur.tolist() == [103, 104, 105, 106]
    assert middle.points.step.tolist() == sorted([0, 1, 2, 3] * 3)
    assert middle.points.target.tolist()[:6] == [0, 0, NOTHING, 1, 1, NOTHING]


def test_a_short_recording_is_its_own_middle():
    script = Script()
    script.launch(10, 100)
    program = script.program()

    assert program.middle(most_points=1) is program


# --- Launches -------------------------------------------------------------------------------------


def test_a_graph_launch_is_one_item_and_keeps_its_inner_gaps():
    world = World()
    for _ in world.steps(2):
        world.graph([5, 7, 9], gap=2)
    program = program_of(world.finish())

    assert program.work.nodes.tolist() == [3, 3]
    assert program.work.dur.tolist() == [25_000, 25_000]
    assert program.work.busy.tolist() == [21_000, 21_000]


def test_waiting_for_room_in_a_full_queue_is_no_host_cost():
    world = World(call=9, room=1024)
    for _ in world.steps(2):
        for _ in range(1000):
            world.op(20, kernel=40)
    program = program_of(world.finish())

    assert world.now > 2 * 1000 * 20 * 1.4  # the host was held for long
    assert host_us(program)["LAUNCH"] == pytest.approx(2000 * 9, rel=0.01)
    assert host_us(program)["OP"] == pytest.approx(2000 * 11, rel=0.01)


def test_replayed_the_full_queue_holds_the_host_again():
    world = World(room=1024)
    for _ in world.steps(2):
        for _ in range(1000):
            world.op(20, kernel=40)
    program = program_of(world.finish())

    assert replay(program).point[-1] / 1000 == pytest.approx(world.now - 1024 * 41, rel=0.02)


def test_a_slow_launch_onto_a_queue_with_room_is_host_cost():
    world = World()
    for _ in world.steps(2):
        for _ in range(600):
            world.op(20, kernel=5)
        world.call = 500
        world.op(520, kernel=5)
        world.call = 9
    program = program_of(world.finish())

    assert host_us(program)["LAUNCH"] == pytest.approx(1200 * 9 + 2 * 500, rel=0.01)


def test_latency_is_read_off_an_idle_stream_and_lead_off_a_busy_one():
    world = World(latency=7, lead=2)
    for _ in world.steps(1):
        world.op(20, kernel=5)
        world.op(20, kernel=60)
        world.op(20, kernel=60)
    work = program_of(world.finish()).work

    assert work.latency.tolist() == [7000, 7000, 7000]
    assert work.lead.tolist() == [2000, 2000, 2000]


def test_work_that_starts_right_after_work_of_another_stream_waited_for_it():
    trace = Trace()
    trace.step(1, at=0, dur=100)
    trace.submit("producer", at=0, start=10, dur=200, stream=7)
    trace.submit("consumer", at=20, start=212, dur=50, stream=9)
    program = program_of(trace)

    assert program.work.after.tolist() == [NOTHING, 0]
    assert drained_us(program) == pytest.approx(262, rel=0.02)


# --- Waits ----------------------------------------------------------------------------------------


def waits(program):
    """Target of each wait."""
    points = program.points
    return points.target[points.kind == PointKind.WAIT].tolist()


def test_a_device_sync_waits_for_all_and_a_stream_sync_for_what_it_saw_end():
    world = World()
    for _ in world.steps(1):
        world.op(20, kernel=60)
        world.sync("cudaDeviceSynchronize")
        world.op(20, kernel=60)
        world.sync("cudaStreamSynchronize")
        world.op(20, kernel=60)

    assert waits(program_of(world.finish())) == [ALL_WORK, 1]


def test_a_stream_sync_waits_for_its_own_stream_alone():
    trace = Trace()
    trace.step(1, at=0, dur=1000)
    trace.submit("short", at=0, start=10, dur=50, stream=7)
    trace.submit("long", at=10, start=20, dur=900, stream=9)
    trace.call("cudaStreamSynchronize", at=20, dur=50)
    trace.submit("next", at=200, start=210, dur=5, stream=7)
    program = program_of(trace)

    assert waits(program) == [0]
    assert replay(program).point.tolist()[2] == pytest.approx(70_000, rel=0.02)


def test_a_wait_for_nothing_costs_what_it_took():
    trace = Trace()
    trace.step(1, at=0, dur=1000)
    trace.submit("kernel", at=0, start=10, dur=5)
    trace.call("cudaDeviceSynchronize", at=500, dur=40)
    trace.submit("kernel", at=600, start=610, dur=5)
    program = program_of(trace)

    assert host_us(program)["SYNC"] == 40
    assert drained_us(program) == 1000


def test_waiting_is_no_host_time_but_the_operator_around_it_is():
    world = World(call=9, wake=10)
    for _ in world.steps(2):
        world.op(20, kernel=500)
        world.item()
        world.op(20, kernel=5)
    host = host_us(program_of(world.finish()))

    assert host["LAUNCH"] + host["OP"] == 2 * (20 + 20)
    waits = host.get("SYNC", 0) + host.get("CARRIER", 0)
    assert waits == pytest.approx(2 * (3 + 9 + 2), abs=2 * 3)  # before, the copy call, after


def test_a_pageable_upload_blocks_while_it_stages_and_is_no_submission():
    world = World()
    for _ in world.steps(3):
        world.upload(staging=500, copy=300)
        world.op(20, kernel=5)
    program = program_of(world.finish())

    assert waits(program) == [0, 2, 4]
    assert host_us(program)["LAUNCH"] == pytest.approx(3 * 9)
    assert steady_us(program) == pytest.approx(500 + 300 + 20, rel=0.03)
    assert steady_us(no_sync(program)) < steady_us(program) / 2


def test_a_short_copy_call_is_asynchronous():
    trace = Trace()
    trace.step(1, at=0, dur=100)
    call = trace.launch(at=0, dur=20, name="cudaMemcpyAsync")
    trace.copy(at=15, dur=300, launch=call, direction="HtoD (Pageable -> Device)")
    trace.submit("kernel", at=50, start=316, dur=5)

    assert waits(program_of(trace)) == []


def test_a_pinned_copy_does_not_block_however_long_its_call():
    trace = Trace()
    trace.step(1, at=0, dur=400)
    call = trace.launch(at=0, dur=200, name="cudaMemcpyAsync")
    trace.copy(at=100, dur=300, launch=call, direction="HtoD (Pinned -> Device)")

    assert waits(program_of(trace)) == []


def test_reading_back_through_the_stream_waits_for_all_before_it():
    world = World()
    for _ in world.steps(1):
        for _ in range(5):
            world.op(20, kernel=100)
        world.item()
        world.op(20, kernel=5)
    program = program_of(world.finish())

    assert waits(program) == [5]
    assert no_sync(program).points.target.tolist().count(NOTHING) == 2  # the wait, the step's end


# --- Edges ----------------------------------------------------------------------------------------


def with_edges():
    """Three steps of 100 us between a wait for earlier work and a last wait."""
    world = World()
    world.trace.kernel("of an earlier step", at=0, dur=10_000, launch=999_999)
    world.free[STREAM] = 10_000
    for number in world.steps(3):
        if number == 0:
            world.sync()
        for _ in range(4):
            world.op(25, kernel=10)
        if number == 2:
            world.sync()
    return world.finish()


def test_waits_at_the_edges_belong_to_the_recording():
    diagnosis = diagnosis_of(with_edges())

    assert diagnosis.steps.drained_ms == pytest.approx(0.1, rel=0.05)
    edge = next(q for q in diagnosis.quality if q.id == "edge-sync")
    assert (edge.severity, edge.count) == ("info", 2)


def test_no_edge_no_word_about_it():
    world = World()
    for _ in world.steps(3):
        launches(world)

    assert "edge-sync" not in {q.id for q in diagnosis_of(world.finish()).quality}


def test_a_wait_that_ends_every_step_ends_the_last_one_too():
    world = World(wake=10)
    for _ in world.steps(3):
        world.python(300)
        for _ in range(20):
            world.op(12, kernel=50)
        world.item()
    diagnosis = diagnosis_of(world.finish(sync=False))

    assert diagnosis.steps.steady_ms == pytest.approx(world.now / 3000, rel=0.02)


def test_the_queue_stays_full_from_one_repetition_to_the_next():
    script = Script()
    script.launch(1, 1)
    script.launch(100, 100)
    program = script.program(queue_limit=1)

    assert np.diff(replay(program, 4).finish).tolist() == [200, 200, 200]


def test_staging_of_an_upload_is_no_device_time():
    from boundby.replay.edits import device_only

    world = World()
    for _ in world.steps(3):
        world.upload(staging=500, copy=300)
        world.op(20, kernel=400)
    program = program_of(world.finish())

    assert steady_us(device_only(program)) == pytest.approx(300 + 400, rel=0.02)


# --- Drained and steady ---------------------------------------------------------------------------


def test_a_program_that_runs_ahead_has_two_step_times_and_no_ranges():
    world = World(latency=4, lead=1)
    for _ in world.steps(3):
        world.op(100, kernel=1000)
    diagnosis = diagnosis_of(world.finish())

    assert diagnosis.steps.drained_ms == pytest.approx((99 + 4 + 3 * 1000 + 2) / 3000, rel=0.01)
    assert diagnosis.steps.steady_ms == pytest.approx(1.001, rel=0.001)
    assert diagnosis.steps.range_ms.median is None


def test_a_program_that_the_host_paces_has_quartiles():
    world = World()
    for number in world.steps(5):
        world.op(100, kernel=5)
        world.python(10 * number)
    found = diagnosis_of(world.finish()).steps.range_ms

    assert (found.q1, found.median, found.q3) == pytest.approx((0.110, 0.120, 0.130))


def test_a_single_step_has_no_quartiles():
    world = World()
    for _ in world.steps(1):
        launches(world)

    assert diagnosis_of(world.finish()).steps.range_ms.median is None


# --- Streams without recorded waits ---------------------------------------------------------------


def on_streams(*work):
    """Launches 10 us apart in one step, each with a kernel (stream, start, dur)."""
    trace = Trace()
    trace.step(1, at=0, dur=10 * len(work) + 10)
    for number, (stream, start, dur) in enumerate(work):
        trace.submit(f"kernel {number}", at=10 * number, start=start, dur=dur, stream=stream)
    return trace


def test_streams_that_took_turns_take_no_less_than_their_work():
    work = [(20 + n, 12 + 301 * n, 300) for n in range(4)]

    assert steady_us(program_of(on_streams(*work))) >= 1200


def test_streams_that_ran_side_by_side_still_do():
    work = [(20 + n, 12 + 10 * n, 300) for n in range(4)]

    assert steady_us(program_of(on_streams(*work))) < 600


def test_one_stream_takes_no_turns():
    assert not program_of(on_streams((20, 12, 300), (20, 320, 300))).takes_turns
