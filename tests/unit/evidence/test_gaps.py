"""Idle time of the device belongs to what kept the next work from running."""

import numpy as np
import pytest

from boundby.evidence.gaps import OWNERS, find_gaps
from boundby.read import read_recording
from boundby.timeline.timeline import build_timeline
from builders import Trace
from recordings import REAL
from worlds import World, timeline_of

US = 1000


def longest_gap(world):
    """Owner and length, us, of the longest idle interval inside the steps."""
    timeline = timeline_of(world.finish(sync=False))
    gaps = find_gaps(timeline, int(timeline.steps.start[0]), int(timeline.steps.end[-1]))
    at = int(np.argmax(gaps.end - gaps.start))
    return OWNERS[gaps.owner[at]], int(gaps.end[at] - gaps.start[at]) / US


def queue_kernels(world, count=5, each=200):
    for _ in range(count):
        world.op(20, kernel=each)


def in_one_step(*acts):
    world = World()
    for _ in world.steps(1):
        world.op(20, kernel=5)
        for act in acts:
            act(world)
        world.op(20, kernel=5)
    return world


@pytest.mark.parametrize(
    ("owner", "act"),
    [
        ("data", lambda world: world.load(900)),
        ("python", lambda world: world.python(900)),
        ("submission", lambda world: world.malloc(900)),
        ("submission", lambda world: world.op(900, kernel=1)),
        ("sync", lambda world: world.upload(staging=900, copy=5)),
    ],
)
def test_the_host_owns_what_it_did_until_the_launch(owner, act):
    found, length = longest_gap(in_one_step(act))

    assert found == owner
    assert length > 880


def test_refilling_after_a_long_wait_counts_for_the_wait():
    # The host waits for 1,000 us of work; without the wait it would have been far ahead.
    world = in_one_step(queue_kernels, World.sync, lambda world: world.python(100))

    assert longest_gap(world)[0] == "sync"


def test_a_wait_for_next_to_nothing_does_not_own_the_python_after_it():
    world = in_one_step(World.sync, lambda world: world.python(900))

    assert longest_gap(world)[0] == "python"


def test_work_that_was_queued_waits_for_the_device():
    world = World(lead=30)
    for _ in world.steps(1):
        queue_kernels(world)

    timeline = timeline_of(world.finish(sync=False))
    gaps = find_gaps(timeline, int(timeline.steps.start[0]), int(world.done * US))

    assert [OWNERS[at] for at in gaps.owner[1:].tolist()] == ["device"] * 4
    assert gaps.total()["device"] == 4 * 30 * US


def test_the_profilers_own_work_is_told_apart():
    world = in_one_step(lambda world: world.python(900))
    world.trace.overhead(40, 800)

    assert longest_gap(world)[0] == "profiler"


def test_without_a_device_nothing_is_idle():
    trace = Trace()
    trace.step(1, at=0, dur=1000)
    trace.op("aten::mm", at=100, dur=500)

    assert len(find_gaps(timeline_of(trace), 0, 1000 * US)) == 0


@pytest.mark.parametrize("path", sorted(REAL.glob("*.json.gz")), ids=lambda path: path.name)
def test_gaps_and_busy_time_fill_the_window(path):
    timeline = build_timeline(read_recording(path))
    start, end = int(timeline.steps.start[0]), int(timeline.steps.end[-1])

    gaps = find_gaps(timeline, start, end)

    busy = int(timeline.busy.all.within(np.array([start]), np.array([end]))[0])
    assert sum(gaps.total().values()) == int((gaps.end - gaps.start).sum()) == end - start - busy
    assert (gaps.start[1:] >= gaps.end[:-1]).all()
    assert not timeline.busy.all.within(gaps.start, gaps.end).any()
