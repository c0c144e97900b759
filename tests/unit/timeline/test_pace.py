"""Steps that are not alike are told; a host that runs ahead and a wait at the edge are not."""

import pytest

from boundby.timeline.pace import find_long_steps, step_lengths
from worlds import World, diagnosis_of, timeline_of


def run(longer, *, steps=6):
    """A loop of 20 launches a step; ``longer``: extra Python by step, microseconds."""
    world = World()
    for number in world.steps(steps):
        world.python(longer.get(number, 0))
        for _ in range(20):
            world.op(20, kernel=10)
    return world.finish()


@pytest.mark.parametrize(
    ("longer", "count", "are_first"),
    [({0: 5000}, 1, True), ({0: 5000, 1: 3000}, 2, True), ({3: 5000}, 1, False)],
    ids=["the first", "the first two", "one in the middle"],
)
def test_steps_of_another_kind_are_told(longer, count, are_first):
    trace = run(longer)
    long = find_long_steps(timeline_of(trace))

    assert (long.count, long.are_first) == (count, are_first)
    assert long.longest == pytest.approx(5_400_000, rel=0.02)
    assert long.usual == pytest.approx(400_000, rel=0.05)
    diagnosis = diagnosis_of(trace)
    [told] = [q for q in diagnosis.quality if q.id == "uneven-steps"]
    assert (told.severity, told.count) == ("warning", count)
    assert ("Skip them" in told.message) == are_first
    assert len(told.message) < 250
    assert diagnosis.verdict.strength == "weak"


@pytest.mark.parametrize("longer", [{}, {2: 600}, {0: 100, 1: 300}, dict.fromkeys(range(6), 5000)])
def test_steps_that_are_alike_are_not_told(longer):
    assert find_long_steps(timeline_of(run(longer))) is None


def test_of_two_steps_none_is_the_usual_one():
    assert find_long_steps(timeline_of(run({0: 50_000}, steps=2))) is None


def test_a_host_that_runs_ahead_has_even_steps():
    world = World(room=40)
    for _ in world.steps(4):
        for _ in range(40):
            world.op(15, kernel=200)

    lengths = step_lengths(timeline_of(world.finish()))

    assert lengths == pytest.approx([8_000_000] * 4, rel=0.02)


def test_what_the_recording_waits_for_before_its_first_launch_is_no_step():
    world = World()
    world.free[7] = 80_000
    for number in world.steps(4):
        if number == 0:
            world.sync()
        for _ in range(40):
            world.op(15, kernel=200)

    assert find_long_steps(timeline_of(world.finish())) is None


def test_a_queue_from_before_the_recording_is_no_step():
    world = World()
    world.free[7] = 80_000
    for _ in world.steps(4):
        for _ in range(40):
            world.op(15, kernel=200)

    assert find_long_steps(timeline_of(world.finish())) is None


def test_a_step_without_launches_lasts_as_long_as_its_range():
    world = World()
    for number in world.steps(5):
        if number == 2:
            world.python(9000)
            continue
        for _ in range(20):
            world.op(20, kernel=10)

    lengths = step_lengths(timeline_of(world.finish()))

    assert lengths[2] == pytest.approx(9_000_000, rel=0.01)
