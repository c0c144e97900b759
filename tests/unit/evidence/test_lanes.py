"""Both timelines as columns: which step, which rows, how deep the queue is."""

import numpy as np
import pytest

from boundby.diagnose import Options, diagnose
from boundby.evidence import lanes as lanes_module
from boundby.evidence.lane_rows import RowKind
from boundby.evidence.lanes import draw_lanes, typical_step
from boundby.read import read_recording
from boundby.read.recording import NONE
from boundby.timeline.hostline import LineKind
from boundby.timeline.timeline import build_timeline
from builders import Trace
from recordings import REAL
from worlds import LOADER, World, read, timeline_of

US = 1000


def steps_of(*lengths):
    """A program whose steps take so long, us, and launch one kernel each."""
    world = World()
    for at in world.steps(len(lengths)):
        world.op(20, kernel=5)
        world.python(lengths[at] - 20)
    return timeline_of(world.finish(sync=False))


def test_the_typical_step_is_nearest_the_median_and_not_the_first():
    assert typical_step(steps_of(100, 500, 100, 110, 300)) == 3


def test_of_two_steps_the_first_may_be_typical():
    assert typical_step(steps_of(100, 100)) == 0


def test_a_step_without_device_work_is_not_typical():
    world = World()
    for at in world.steps(4):
        if at != 2:
            world.op(20, kernel=5)
        world.python(100)

    assert typical_step(timeline_of(world.finish(sync=False))) != 2


def one_step():
    """A loader, an operator with a frame around it, a copy that is waited for, two streams."""
    trace = Trace()
    trace.step(1, at=0, dur=1000)
    trace.range(LOADER, 10, 100)
    trace.frame("train.py(42): step", at=150, dur=500)
    op = trace.op("aten::mm", at=200, dur=50, dims=[[8, 4], [4, 2]])
    first = trace.launch(at=210, dur=10, op=op)
    second = trace.launch(at=230, dur=10, op=op)
    trace.call("cudaStreamSynchronize", at=300, dur=200)
    trace.kernel("ampere_sgemm", at=240, dur=200, launch=first)
    trace.kernel("elementwise", at=250, dur=100, launch=second, stream=9)
    return timeline_of(trace)


def test_the_host_line_covers_the_window_without_holes():
    lanes = draw_lanes(one_step())

    assert lanes.line.start[0] == lanes.start == 0
    assert lanes.line.end[-1] == lanes.end == 1000 * US
    assert (lanes.line.start[1:] == lanes.line.end[:-1]).all()
    spent = np.bincount(lanes.line.kind, lanes.line.end - lanes.line.start)
    assert spent[LineKind.LOADER] == 100 * US
    assert spent[LineKind.LAUNCH] == 20 * US
    assert spent[LineKind.SYNC] == 200 * US


def test_rows_are_nested_and_know_their_kind_shape_and_place():
    lanes = draw_lanes(one_step())
    told = {
        (lanes.names[name] if name != NONE else "frame", depth): RowKind(kind)
        for name, depth, kind in zip(
            lanes.host.name.tolist(),
            lanes.host.depth.tolist(),
            lanes.host.kind.tolist(),
            strict=True,
        )
    }

    assert told == {
        ("ProfilerStep#1", 0): RowKind.RANGE,
        (LOADER, 1): RowKind.LOADER,
        ("frame", 1): RowKind.FRAME,
        ("aten::mm", 2): RowKind.OP,
        ("cudaLaunchKernel", 3): RowKind.LAUNCH,
        ("cudaStreamSynchronize", 2): RowKind.WAIT,
    }
    (mm,) = np.flatnonzero(lanes.host.name == lanes.names.index("aten::mm"))
    assert lanes.signatures[lanes.host.signature[mm]].dims == b"[[8, 4], [4, 2]]"
    assert lanes.places[lanes.host.place[mm]].line == 42


def test_work_knows_its_stream_and_the_call_that_launched_it():
    lanes = draw_lanes(one_step())

    assert lanes.work.stream.tolist() == [7, 9]
    assert lanes.work.own.all()
    assert lanes.host.start[lanes.work.host].tolist() == [210 * US, 230 * US]


def test_the_queue_rises_with_launches_and_falls_with_completions():
    queue = draw_lanes(one_step()).queue

    assert dict(zip((queue.time // US).tolist(), queue.depth.tolist(), strict=True)) == {
        0: 0,
        220: 1,
        240: 2,
        350: 1,
        440: 0,
    }


def test_a_window_with_too_many_rows_ends_early_and_says_so(monkeypatch):
    monkeypatch.setitem(lanes_module.MOST_ROWS, "typical", 4)

    lanes = draw_lanes(one_step())

    assert lanes.whole_end == 1000 * US
    assert lanes.end < lanes.whole_end
    assert lanes.left_out == 4  # of eight, four begin before the end
    assert (lanes.host.start < lanes.end).all()


def test_what_is_around_the_whole_window_is_not_drawn():
    trace = Trace()
    trace.frame("train.py(1): main", at=0, dur=5000)
    for number in range(3):
        begin = 1000 + 1000 * number
        trace.step(number + 1, at=begin, dur=1000)
        call = trace.launch(at=begin + 100, dur=10)
        trace.kernel("gemm", at=begin + 120, dur=10, launch=call)

    lanes = draw_lanes(timeline_of(trace))

    assert RowKind.FRAME not in lanes.host.kind
    assert lanes.host.depth.tolist() == [0, 1]


def test_a_range_that_ends_in_the_step_lies_inside_it():
    trace = Trace()
    for number in range(3):
        begin = 1000 + 1000 * number
        trace.step(number + 1, at=begin, dur=1000)
        trace.range("Optimizer.step#SGD.step", begin - 200, 250)
        call = trace.launch(at=begin + 100, dur=10)
        trace.kernel("gemm", at=begin + 120, dur=10, launch=call)

    lanes = draw_lanes(timeline_of(trace))
    names = [lanes.names[at] for at in lanes.host.name.tolist()]

    assert names[:2] == [f"ProfilerStep#{lanes.step + 1}", "Optimizer.step#SGD.step"]
    assert lanes.host.depth.tolist()[:2] == [0, 1]


def test_lanes_are_drawn_only_when_asked_for():
    trace = Trace()
    trace.op("aten::mm", at=0, dur=10)

    assert diagnose(read(trace)).lanes is None
    assert diagnose(read(trace), Options(lanes="typical")).lanes is not None


@pytest.mark.parametrize("path", sorted(REAL.glob("*.json.gz")), ids=lambda path: path.name)
def test_rows_of_one_level_do_not_overlap(path):
    lanes = draw_lanes(build_timeline(read_recording(path)))
    host = lanes.host

    for thread in np.unique(host.thread):
        for depth in np.unique(host.depth[host.thread == thread]):
            mine = (host.thread == thread) & (host.depth == depth)
            start, end = host.start[mine], (host.start + host.dur)[mine]
            assert (start[1:] >= end[:-1] - 2 * US).all()


def test_all_steps_are_drawn_for_a_trace_viewer():
    timeline = steps_of(100, 100, 100)
    lanes = draw_lanes(timeline, "all")

    assert lanes.step is None
    assert len(lanes.work) == 3
    assert (lanes.start, lanes.end) == (0, 300 * US)
