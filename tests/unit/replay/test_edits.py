"""Each edit removes one cost from a step worked out by hand, and nothing else."""

import pytest

from boundby.replay.edits import (
    GRAPH_NODE_NS,
    device_only,
    no_data_wait,
    no_overhead,
    no_python,
    no_submit_cost,
    no_sync,
    no_sync_of,
    scaled_device,
    scaled_host,
)
from boundby.replay.program import NOTHING
from boundby.replay.split import PARTS, DeviceSplit
from boundby.replay.steptime import drained_ns
from boundby.replay.waterfall import descend
from boundby.timeline.hostline import LineKind
from worlds import Script

LOADER, OP, LAUNCH = LineKind.LOADER, LineKind.OP, LineKind.LAUNCH
PYTHON, ALLOCATOR, OVERHEAD = LineKind.PYTHON, LineKind.ALLOCATOR, LineKind.OVERHEAD


def step():
    """One step of 2,245 ns with every kind of cost in it.

    ::

        host    load 1000 | python 100, op 200, launch 90 | wait ... wake 50 | malloc 60, python 40
        device                                            5 | kernel 700
    """
    script = Script()
    script.launch({LOADER: 1000, PYTHON: 100, OP: 200, LAUNCH: 90}, 700, latency=5, lead=3)
    script.wait(20, wake=50)
    script.end_step({ALLOCATOR: 60, PYTHON: 40})
    return script.program()


STEP = 1000 + 100 + 200 + 90 + 5 + 700 + 50 + 60 + 40


@pytest.mark.parametrize(
    ("edit", "left"),
    [
        (no_data_wait, STEP - 1000),
        (no_python, STEP - 140),
        # The wait's own 20 ns were hidden behind the kernel; its end, the wake-up, was not. The
        # host then reaches the end of the step before the kernel does.
        (no_sync, 1000 + 390 + 5 + 700),
        (no_submit_cost, 1000 + 700),
        (device_only, 700 + 3),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_what_is_left_of_the_step(edit, left):
    assert drained_ns(step()) == STEP
    assert drained_ns(edit(step())) == left


def test_what_the_profiler_does_for_itself_is_left_out():
    script = Script()
    script.launch({OP: 20, OVERHEAD: 500}, 100)

    assert drained_ns(no_overhead(script.program())) == 120


def test_a_graph_adds_its_cost_to_every_node():
    script = Script()
    for _ in range(10):
        script.launch(20, 30, lead=5)

    graph = no_submit_cost(script.program())

    assert drained_ns(graph) == 10 * (30 + GRAPH_NODE_NS)


def test_only_the_chosen_waits_go():
    script = Script()
    for _ in range(2):
        script.launch(10, 100)
        script.wait(5, wake=7)
    program = script.program()
    program.points.call[:] = [1, 2, 3, 4, NOTHING]

    assert drained_ns(program) == 2 * (10 + 100 + 7)
    assert drained_ns(no_sync_of(program, [2])) == 10 + 100 + 100 + 7
    assert drained_ns(no_sync_of(program, [2, 4])) == drained_ns(no_sync(program))


def test_an_edit_leaves_its_program_as_it_was():
    program = step()
    for edit in (no_data_wait, no_sync, no_python, no_submit_cost, device_only):
        edit(program)

    assert drained_ns(program) == STEP


def test_scaling_the_host_leaves_waits_loader_and_allocator_alone():
    host = scaled_host(step(), 0.5).host_ns
    expected = {
        LineKind.SYNC: 20,
        ALLOCATOR: 60,
        LOADER: 1000,
        LAUNCH: 45,
        OP: 100,
        PYTHON: 70,
    }

    assert {kind: host[kind] for kind in expected} == expected


def test_scaling_the_device_scales_work_and_not_its_gaps():
    work = scaled_device(step(), 1.5).work

    assert (work.dur.tolist(), work.busy.tolist()) == ([1050], [1050])
    assert (work.latency.tolist(), work.lead.tolist()) == ([5], [3])


def test_the_descent_never_rises():
    split = DeviceSplit(700.0, dict.fromkeys(PARTS, 0.2))
    descent = descend(step(), split)

    assert descent.now == STEP
    assert descent.without_data == STEP - 1000
    assert descent.without_sync == 700 + 3  # the host, 490 ns, runs beside the next kernel
    assert descent.device == 700 + 3
