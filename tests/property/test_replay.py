"""What holds for every program, whatever its points are."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from boundby.replay.edits import (
    device_only,
    no_data_wait,
    no_overhead,
    no_python,
    no_sync,
    scaled_device,
    scaled_host,
)
from boundby.replay.engine import replay
from boundby.replay.program import ALL_WORK, PointKind
from boundby.replay.split import PARTS, DeviceSplit
from boundby.replay.steptime import drained_ns, steady_ns
from boundby.replay.waterfall import descend, waterfall
from strategies import programs

SPLIT = DeviceSplit(0.0, dict(zip(PARTS, (0.4, 0.3, 0.1, 0.1, 0.1), strict=True)))


def parts_of(program, split=SPLIT):
    return {
        p.part: p.ms * 1e6 for p in waterfall(program, descend(program, split), split)
    }, descend(program, split).now


@settings(max_examples=100, derandomize=True)
@given(program=programs().filter(lambda p: steady_ns(p) > 0))
def test_parts_of_the_waterfall_sum_to_the_step_and_none_is_negative(program):
    parts, now = parts_of(program)

    assert sum(parts.values()) == pytest.approx(now)
    assert now == steady_ns(program)
    assert min(parts.values()) >= 0


@settings(max_examples=100, derandomize=True)
@given(program=programs().filter(lambda p: steady_ns(p) > 0))
def test_shares_of_the_waterfall_sum_to_one(program):
    parts = waterfall(program, descend(program, SPLIT), SPLIT)

    assert sum(p.share for p in parts) == pytest.approx(1, abs=1e-6)


REMOVALS = [no_data_wait, no_sync, no_python, no_overhead, device_only]


@pytest.mark.parametrize("edit", REMOVALS, ids=lambda edit: edit.__name__)
@settings(max_examples=60, derandomize=True)
@given(program=programs())
def test_removing_a_cost_never_lengthens_the_program(edit, program):
    assert drained_ns(edit(program)) <= drained_ns(program)


@settings(max_examples=60, derandomize=True)
@given(program=programs(), twice=st.sampled_from(REMOVALS))
def test_a_cost_can_be_removed_only_once(program, twice):
    once = twice(program)

    assert replay(twice(once)).finish == replay(once).finish


@settings(max_examples=60, derandomize=True)
@given(program=programs(), factor=st.sampled_from([0.25, 0.5, 0.75]))
def test_a_faster_host_or_device_never_lengthens_the_program(program, factor):
    rounding = len(program.points.kind) * len(program.points.host[0])

    for faster in (scaled_host(program, factor), scaled_device(program, factor)):
        assert drained_ns(faster) * program.steps <= drained_ns(program) * program.steps + rounding


def with_wait(program, at):
    """One more wait for the device, that costs nothing by itself, before a point."""
    points = program.points

    def inserted(column, value):
        return np.insert(column, at, value, axis=0)

    return replace(
        program,
        points=replace(
            points,
            kind=inserted(points.kind, PointKind.WAIT),
            step=inserted(points.step, points.step[at]),
            host=inserted(points.host, 0),
            target=inserted(points.target, ALL_WORK),
            wake=inserted(points.wake, 0),
            call=inserted(points.call, -1),
        ),
    )


@settings(max_examples=150, derandomize=True)
@given(program=programs().filter(lambda p: steady_ns(p) > 0), at=st.integers(0, 39))
def test_more_waits_never_lower_the_sync_part(program, at):
    more, _ = parts_of(with_wait(program, at % len(program.points.kind)))
    fewer, _ = parts_of(program)

    assert more["sync"] >= fewer["sync"] - 1e-6


@settings(max_examples=60, derandomize=True)
@given(program=programs(limits=(1024,)), renamed=st.permutations(range(3)))
def test_streams_have_no_names(program, renamed):
    work = replace(program.work, stream=np.array(renamed)[program.work.stream])

    assert replay(program.with_work(work), 2).finish == replay(program, 2).finish
