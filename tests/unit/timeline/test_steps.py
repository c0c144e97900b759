"""What a step is taken from, best source first."""

import numpy as np
import pytest

from boundby.timeline.steps import find_period
from builders import Trace
from worlds import World, timeline_of


def steps(trace):
    """Source, and (start, end) in microseconds."""
    found = timeline_of(trace).steps
    spans = zip(found.start.tolist(), found.end.tolist(), strict=True)
    return found.source, [(start // 1000, end // 1000) for start, end in spans]


def loop(*names_at, launches_at=(), names=("kernel",)):
    """Ranges ``(name, at, dur)`` and launches, each with a kernel of the next name."""
    trace = Trace()
    trace.op("aten::empty", at=0, dur=1)  # times are told from the first event on
    for name, at, dur in names_at:
        trace.range(name, at, dur)
    for number, at in enumerate(launches_at):
        trace.submit(names[number % len(names)], at, start=at + 6, dur=2)
    return trace


def test_profiler_steps_come_first():
    trace = loop(
        ("ProfilerStep#4", 0, 100),
        ("ProfilerStep#5", 100, 90),
        ("train_step", 0, 95),
        ("train_step", 100, 85),
        launches_at=(10, 110),
    )

    assert steps(trace) == ("ProfilerStep", [(0, 100), (100, 190)])


def test_time_between_consecutive_profiler_steps_belongs_to_the_earlier():
    trace = loop(("ProfilerStep#4", 0, 90), ("ProfilerStep#5", 100, 90), launches_at=(10, 110))

    assert steps(trace)[1] == [(0, 100), (100, 190)]


def test_time_between_profiler_steps_that_do_not_follow_each_other_belongs_to_none():
    trace = loop(("ProfilerStep#4", 0, 90), ("ProfilerStep#9", 500, 90), launches_at=(10, 510))

    assert steps(trace)[1] == [(0, 90), (500, 590)]


def test_a_profiler_step_that_two_threads_report_counts_once():
    trace = loop(("ProfilerStep#4", 0, 100), ("ProfilerStep#5", 100, 100), launches_at=(10, 110))
    trace.step(5, 100, 80, thread=2)

    assert steps(trace)[1] == [(0, 100), (100, 200)]


def test_steps_are_in_order_of_time_and_not_of_name():
    trace = loop(("ProfilerStep#9", 0, 100), ("ProfilerStep#10", 100, 100), launches_at=(10, 110))

    assert steps(trace)[1] == [(0, 100), (100, 200)]


def test_a_repeated_user_range_that_holds_the_launches():
    trace = loop(
        ("train_step", 0, 90),
        ("forward", 0, 40),
        ("train_step", 100, 90),
        ("forward", 100, 40),
        launches_at=(10, 50, 60, 110, 150, 160),
    )

    assert steps(trace) == ("user ranges", [(0, 100), (100, 190)])


def test_numbered_user_ranges_are_repeats_of_one():
    trace = loop(("iter 7", 0, 90), ("iter 8", 100, 90), launches_at=(10, 110))

    assert steps(trace)[0] == "user ranges"


@pytest.mark.parametrize(
    "ranges",
    [
        pytest.param([("train_step", 0, 200)], id="it does not repeat"),
        pytest.param([("log", 0, 5), ("log", 100, 5)], id="it holds few launches"),
        pytest.param([("## Call CompiledFxGraph ##", 0, 90)] * 2, id="torch made it"),
        pytest.param([("nccl:all_reduce", 0, 90), ("nccl:all_reduce", 100, 90)], id="c10d made it"),
    ],
)
def test_a_user_range_is_no_step_when(ranges):
    trace = loop(*ranges, launches_at=(10, 20, 110, 120), names=("a", "b", "c", "d"))

    assert steps(trace)[0] == "window"


def test_from_the_end_of_one_update_to_the_end_of_the_next():
    updates = [("Optimizer.step#Adam.step", at, 20) for at in (70, 170, 270)]
    trace = loop(*updates, launches_at=(10, 110, 210), names=("a", "b", "c"))

    assert steps(trace) == ("optimizer", [(90, 190), (190, 290)])


def test_of_two_optimizers_the_rarer_closes_the_step():
    discriminator = [("Optimizer.step#SGD.step", at, 10) for at in (20, 50, 120, 150, 220, 250)]
    generator = [("Optimizer.step#Adam.step", at, 10) for at in (80, 180, 280)]
    trace = loop(*discriminator, *generator, launches_at=(10, 110, 210), names=("a", "b", "c"))

    assert steps(trace) == ("optimizer", [(90, 190), (190, 290)])


def test_of_two_optimizers_as_frequent_the_one_that_comes_last_closes_the_step():
    first = [("Optimizer.step#SGD.step", at, 10) for at in (20, 120, 220)]
    last = [("Optimizer.step#Adam.step", at, 10) for at in (80, 180, 280)]
    trace = loop(*first, *last, launches_at=(10, 110, 210), names=("a", "b", "c"))

    assert steps(trace)[1] == [(90, 190), (190, 290)]


@pytest.mark.parametrize(
    "name",
    [
        "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__",
        "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__",
    ],
)
def test_from_one_batch_to_the_next(name):
    batches = [(name, at, 20) for at in (0, 100, 200)]
    trace = loop(*batches, launches_at=(30, 130, 230), names=("a", "b", "c"))

    assert steps(trace) == ("loader", [(0, 100), (100, 200)])


def test_launches_that_repeat_themselves():
    trace = loop(launches_at=range(0, 120, 10), names=("gemm", "relu", "gemm", "adam"))

    assert steps(trace) == ("periodicity", [(0, 40), (40, 80), (80, 115)])


def test_without_any_sign_the_window_is_one_step():
    trace = loop(launches_at=(10, 20, 30), names=("a", "b", "c"))

    assert steps(trace) == ("window", [(0, 38)])


def test_each_time_is_in_the_step_that_holds_it():
    trace = loop(("ProfilerStep#1", 10, 10), ("ProfilerStep#5", 40, 10), launches_at=(12, 42))
    found = timeline_of(trace).steps

    times = np.array([9_999, 10_000, 19_999, 20_000, 40_000, 50_000])

    assert found.of(times).tolist() == [-1, 0, 0, -1, 1, -1]


def test_a_repeated_loader_range_inside_profiler_steps_is_no_step_of_its_own():
    world = World()
    for _ in world.steps(4):
        world.load(50)
        world.op(20, kernel=5)

    assert timeline_of(world.finish()).steps.source == "ProfilerStep"


@pytest.mark.parametrize(
    ("sequence", "period"),
    [
        ("abcabcabc", 3),
        ("abcabcab", None),  # not three times over
        ("aaaaaa", 1),
        ("aabaabaabaab", 3),
        ("abcdefgh", None),
        ("", None),
        ("a" + "bcd" * 30, 3),  # a cold start before the loop
        ("abacabacabac", 4),
    ],
)
def test_period(sequence, period):
    assert find_period(np.array([ord(c) for c in sequence], dtype=np.int64)) == period
