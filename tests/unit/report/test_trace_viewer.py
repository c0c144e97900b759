"""Traces written for Perfetto, imported by its rules: nothing is dropped, moved or nameless."""

import json

import numpy as np
import pytest

from boundby.diagnose import Options, diagnose
from boundby.memory.diagnose import diagnose as diagnose_memory
from boundby.read import read_recording
from boundby.read.memory_snapshot import read_snapshot
from boundby.report.memory_perfetto import counters
from boundby.report.perfetto import DEVICE, HOST, render
from boundby.report.trace_tracks import FIRST_TRACK, lay_out
from recordings import REAL
from trace_viewer import view
from worlds import World, read

NAMED = [
    {"ph": "M", "name": "process_name", "pid": 1, "args": {"name": "host"}},
    {"ph": "M", "name": "thread_name", "pid": 1, "tid": 11, "args": {"name": "main"}},
    {"ph": "M", "name": "thread_name", "pid": 1, "tid": 12, "args": {"name": "other"}},
]
PLACE = {"pid": 1, "tid": 11}
SLICE = {"ph": "X", "name": "op", "ts": 1.0, "dur": 2.0, **PLACE}
BEGIN = {"ph": "s", "name": "launch", "id": 1, "ts": 1.0, **PLACE}
END = {"ph": "f", "bp": "e", "name": "launch", "id": 1, "ts": 2.0, **PLACE}


def problems(*events):
    return dict(view({"traceEvents": [*NAMED, *events]}).problems)


def imported(path):
    document = json.loads(render(diagnose(read_recording(path), Options(lanes="all"))))
    return document["traceEvents"], view(document)


def assert_whole(events, seen):
    """Everything is drawn; each arrow leads from the start of a call to that of its work."""
    assert seen.problems == {}
    assert seen.slices == sum(each["ph"] == "X" for each in events)
    assert len(seen.arrows) == sum(each["ph"] == "s" for each in events)
    for (_, _, call), (_, _, work) in seen.arrows:
        assert (call["pid"], call["args"]["kind"], work["pid"]) == (HOST, "launch", DEVICE)


@pytest.mark.parametrize("name", sorted(path.name for path in REAL.glob("*.json.gz")))
def test_a_real_recording_is_imported_whole(name):
    assert_whole(*imported(REAL / name))


SHARED = (
    "seed_block_batch64_best",  # kernels of one stream that start early
    "conv_resnet_block",
    "copy_compute_overlap",
    "pair_small_encoder_b1.stack",
)


@pytest.mark.parametrize("name", SHARED)
def test_a_shared_recording_is_imported_whole(shared, name):
    assert_whole(*imported(shared / "traces" / "h200" / f"{name}.json.gz"))


PUBLIC = ("tl_mi300_bertsmall", "tl_vllm_piecewise", "a100_no_kernels")


@pytest.mark.parametrize("name", PUBLIC)
def test_a_public_recording_loses_nothing(shared, name):
    events, seen = imported(shared / "traces" / "public" / f"{name}.json.gz")

    assert seen.problems == {}
    assert seen.slices == sum(each["ph"] == "X" for each in events)


def test_threads_do_not_share_a_track_and_the_main_one_is_first():
    events, _ = imported(REAL / "pair_hooks_with_json.json.gz")
    names = {
        each["tid"]: each["args"]["name"]
        for each in events
        if each["name"] == "thread_name" and each["pid"] == HOST
    }

    assert names == {FIRST_TRACK: "main thread", FIRST_TRACK + 1: "helper thread"}


def test_work_that_starts_early_has_a_track_beside_its_stream():
    world = World()
    for _ in world.steps(3):
        for _ in range(4):
            world.op(20, kernel=30)
    trace = world.finish()
    kernels = [each for each in trace.events if each["cat"] == "kernel"]
    kernels[5]["dur"] = kernels[6]["ts"] + 1 - kernels[5]["ts"]
    document = json.loads(render(diagnose(read(trace), Options(lanes="all"))))
    names = [
        each["args"]["name"] for each in document["traceEvents"] if each["name"] == "thread_name"
    ]

    assert "stream 7, overlapping" in names
    assert view(document).problems == {}


@pytest.mark.parametrize(
    "path", sorted((REAL / "memory").glob("*.pickle.gz")), ids=lambda p: p.name
)
def test_memory_curves_are_imported_whole(path):
    found = json.loads(counters(diagnose_memory(read_snapshot(path)).case.history))

    assert len(found["traceEvents"]) > 1
    assert view(found).problems == {}


def test_rows_that_nest_share_a_track_and_others_do_not():
    start, dur = np.array([0, 0, 2, 4, 5]), np.array([6, 3, 2, 4, 0])
    tracks = lay_out((start, dur), np.zeros(5, dtype=np.int64), "stream {}".format)

    assert tracks.of_row == [11, 11, 12, 12, 11]
    assert tracks.names == {11: "stream 0", 12: "stream 0, overlapping"}


@pytest.mark.parametrize(
    ("problem", "events"),
    [
        ("overlap", [SLICE, SLICE | {"ts": 2.0}]),
        ("track 0", [SLICE | {"tid": 0}]),
        ("track of the process", [SLICE | {"tid": 1}]),
        ("process 0", [SLICE | {"pid": 0}]),
        ("no time", [SLICE | {"ts": -1.0}]),
        ("no duration", [SLICE | {"dur": -1.0}]),
        ("no name", [SLICE | {"name": ""}]),
        ("nameless", [SLICE | {"tid": 13}]),
        ("long text", [SLICE | {"name": "x" * 2000}]),
        ("no number", [{"ph": "C", "name": "depth", "ts": 1, "pid": 1, "args": {"a": "1"}}]),
        ("named twice", [NAMED[0]]),
        ("arrow without slice", [BEGIN, SLICE | {"ts": 2.0}, END]),
        ("arrow without begin", [SLICE, END]),
        ("arrow without end", [SLICE, BEGIN]),
        ("no scope", [{"ph": "i", "name": "mark", "ts": 1, "pid": 1}]),
    ],
)
def test_the_viewer_finds_what_an_importer_would_drop(problem, events):
    assert problem in problems(*events)


def test_the_viewer_accepts_what_is_right():
    inner = SLICE | {"ts": 1.0, "dur": 1.0}
    after = SLICE | {"ts": 3.0, "tid": 12}

    assert problems(SLICE, inner, after, BEGIN, END) == {}
    assert problems(SLICE | {"dur": 0.0}, SLICE | {"dur": 0.0}) == {}
