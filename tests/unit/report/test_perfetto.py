"""The annotated trace: what ran, who owns idle time, the classes, and a lane for each what-if."""

import json
from dataclasses import replace

import pytest

from boundby.cli.demos import demo_file
from boundby.diagnose import Options, diagnose
from boundby.memory.diagnose import diagnose as diagnose_memory
from boundby.read import read_recording
from boundby.read.memory_snapshot import read_snapshot
from boundby.report.memory_perfetto import counters
from boundby.report.perfetto import DEVICE, FOUND, HOST, IDLE, STEPS, WHAT_IF, render
from boundby.report.trace_tracks import FIRST_TRACK
from recordings import REAL


@pytest.fixture(scope="module")
def diagnosis():
    return diagnose(read_recording(demo_file("item-each-layer")), Options(lanes="all"))


@pytest.fixture(scope="module")
def events(diagnosis):
    return json.loads(render(diagnosis))["traceEvents"]


def slices(events, process, thread=None):
    return [
        each
        for each in events
        if each["ph"] == "X" and each["pid"] == process and thread in (None, each["tid"])
    ]


def test_all_steps_are_there_with_their_class(diagnosis, events):
    steps = slices(events, FOUND, STEPS)

    assert [each["name"] for each in steps] == [f"step {at}: sync-bound" for at in (1, 2, 3)]
    assert steps[0]["args"]["cause"] == "item"
    estimate = diagnosis.steps.unprofiled_ms.estimate
    assert steps[0]["args"]["ms_without_the_profiler"] == estimate


def test_host_and_device_keep_their_rows_and_times(diagnosis, events):
    assert len(slices(events, HOST)) == len(diagnosis.lanes.host)
    work = slices(events, DEVICE)
    assert sum(each["dur"] for each in work) * 1000 == pytest.approx(
        int(diagnosis.lanes.work.dur.sum())
    )
    assert {each["args"]["family"] for each in work} >= {"matmul", "transfer"}


def test_idle_time_has_owners(diagnosis, events):
    owned = {}
    for each in slices(events, FOUND, IDLE):
        owned[each["name"]] = owned.get(each["name"], 0) + round(each["dur"] * 1000)

    assert owned == diagnosis.lanes.gaps.total()


def test_every_edit_has_a_lane_of_predicted_steps(diagnosis, events):
    for lane, edit in enumerate(diagnosis.what_if, FIRST_TRACK):
        found = slices(events, WHAT_IF, lane)
        assert len(found) == 3
        assert all(each["dur"] == pytest.approx(edit.step_ms * 1000, abs=0.001) for each in found)
        assert found[0]["name"].startswith(edit.id)


def test_arrows_lead_from_launches_to_their_work(events):
    begins = {each["id"]: each for each in events if each["ph"] == "s"}
    ends = {each["id"]: each for each in events if each["ph"] == "f"}

    assert begins.keys() == ends.keys()
    assert len(begins) == len(slices(events, DEVICE))
    assert all(begins[key]["ts"] < ends[key]["ts"] for key in begins)


def test_the_queue_is_a_counter(events):
    depths = [each["args"]["launches"] for each in events if each["ph"] == "C"]

    assert max(depths) >= 1
    assert min(depths) == 0


def test_without_lanes_there_is_an_empty_trace(diagnosis):
    assert json.loads(render(replace(diagnosis, lanes=None)))["traceEvents"] == []


def test_memory_curves_are_counters_of_the_same_form():
    path = REAL / "memory" / "fragmentation_oom.pickle.gz"
    found = json.loads(counters(diagnose_memory(read_snapshot(path)).case.history))

    assert {each["ph"] for each in found["traceEvents"]} == {"M", "C", "i"}
