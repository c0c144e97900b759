"""Pages on memory, kernels, measurements and live runs show the values of their other reports."""

import json

import pytest

from boundby.bench.caliber import Caliber
from boundby.bench.result import Clock, Labels, Result
from boundby.bench.warmup import WarmUp
from boundby.capture.clocks import Clocks, PassRow
from boundby.capture.clocks import WarmUp as RunWarmUp
from boundby.capture.findings import Ending, LiveRun, LoaderRow
from boundby.capture.lines import LineRow, SplitRow, WaitRow
from boundby.evidence.facts import Place
from boundby.kernels.analyse import analyse
from boundby.memory.diagnose import diagnose as diagnose_memory
from boundby.memory.facts import GIB, size_text
from boundby.memory.message import diagnose_text
from boundby.prescribe.case import NO_LIVE
from boundby.read.memory_snapshot import read_snapshot
from boundby.read.nsight_compute import read_kernels
from boundby.read.oom_message import read_oom_messages
from boundby.report import run_sections
from boundby.report.bench import encode as encode_bench
from boundby.report.kernel_document import document as kernel_document
from boundby.report.memory_document import snapshot_document
from boundby.report.page.bench import bench_page
from boundby.report.page.kernels import kernel_page
from boundby.report.page.memory import snapshot_page, text_page
from boundby.report.page.render import render
from boundby.report.page.run import run_page
from boundby.report.run_markdown import render as render_markdown
from boundby.report.run_text import render as render_text
from boundby.report.terminal import Look
from boundby.report.text import Tables
from diagnoses import sync_bound, undecided
from recordings import REAL

MEMORY = sorted((REAL / "memory").glob("*.pickle.gz"))
OOM = (
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total "
    "capacity of 15.90 GiB of which 1.10 GiB is free. Including non-PyTorch memory, this process "
    "has 14.80 GiB memory in use. Of the allocated memory 14.00 GiB is allocated by PyTorch, and "
    "300.00 MiB is reserved by PyTorch but unallocated.\n"
)


def panel_of(page, identity):
    return next(each for each in page.panels if each.id == identity)


# --- Memory ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", MEMORY, ids=lambda path: path.name.split(".")[0])
def test_a_snapshot_shows_the_values_of_its_document(path):
    diagnosis = diagnose_memory(read_snapshot(path))
    page, told = snapshot_page(diagnosis), snapshot_document(diagnosis)

    assert page.document == told
    assert page.panels[0].title.startswith(told["verdict"]["class"])
    parts = {row["name"]: row for row in page.charts["composition"]["rows"]}
    known = {part["part"]: part["bytes"] for part in told["composition"] if part["bytes"]}
    assert parts.keys() == known.keys()
    assert all(parts[name]["text"].startswith(size_text(size)) for name, size in known.items())
    curve = page.charts["memory"]
    scale = {"GiB": GIB, "MiB": 1 << 20, "KiB": 1 << 10}[curve["unit"]]
    live = [value * scale for value in curve["series"][0]["values"]]
    assert live == pytest.approx(told["timeline"]["live_bytes"])
    assert live[curve["marks"][0]["at"]] == max(live)
    parts = [part["values"] for part in curve["parts"]]
    assert [sum(of) * scale for of in zip(*parts, strict=True)] == pytest.approx(live)


@pytest.mark.parametrize("path", MEMORY, ids=lambda path: path.name.split(".")[0])
def test_blocks_and_free_room_fill_each_segment(path):
    diagnosis = diagnose_memory(read_snapshot(path))
    drawn = snapshot_page(diagnosis).lanes["segments"]
    rows = sorted(diagnosis.segments.rows, key=lambda row: -row.size)

    for row, track in zip(rows, drawn["tracks"], strict=False):
        assert sum(track["d"]) == row.size
        used = [size for size, kind in zip(track["d"], track["k"], strict=True) if kind == 0]
        assert sum(used) == row.live


def test_a_message_has_no_pictures_and_says_so():
    page = text_page(diagnose_text(read_oom_messages(OOM), OOM), "train.log")

    assert page.panels[0].title.startswith("really-full")
    (block,) = panel_of(page, "memory").blocks
    assert block["kind"] == "missing"
    assert "2.00 GiB" in render(page)


# --- Kernels and measurements ---------------------------------------------------------------------


def test_kernels_show_the_values_of_their_document():
    analysis = analyse(read_kernels(str(REAL / "nsight" / "ncu_raw.csv.gz")))
    page = kernel_page(analysis)

    assert page.document == kernel_document(analysis)
    sizes = sum(row["size"] for row in page.charts["classes"]["rows"])
    assert sizes == pytest.approx(analysis.total_ns / 1e6)
    (table,) = (each for each in panel_of(page, "kernels").blocks if each["kind"] == "table")
    assert len(table["rows"]) == len(analysis.kernels)


def measured(*samples):
    clock = Clock(tuple(samples), 10)
    warm = WarmUp(1, 1.0, is_steady=True, first=())
    return Result(Labels("mine <b>"), clock, clock, None, warm, Caliber())


def test_a_measurement_shows_its_clocks_and_every_sample():
    result = measured(1000.0, 2000.0, 3000.0)
    page = bench_page(result)

    assert page.document == json.loads(encode_bench(result))
    wall, submit = page.charts["clocks"]["rows"]
    assert (wall["name"], wall["low"], wall["value"], wall["high"]) == ("wall", 1.5, 2, 2.5)
    assert wall["text"] == "2.00 us  IQR 1.00 us"
    assert submit["name"] == "submit"
    assert page.charts["samples"]["series"][0]["values"] == [1, 2, 3]
    assert page.charts["samples"]["ends"]
    assert "mine &lt;b&gt;" in render(page)


def test_one_sample_is_no_curve():
    (block,) = panel_of(bench_page(measured(1000.0)), "samples").blocks

    assert block["kind"] == "missing"


# --- Live runs ------------------------------------------------------------------------------------

PLACE = Place("train.py", 42, "step", exact=True)


def live_run(**more):
    known = {
        "folder": "kept",
        "script": "train.py",
        "rank": None,
        "source": "optimizer",
        "steps": 120,
        "finished": True,
        "clocks": Clocks(2.5, 1.5, None, 2.0, 3.0, 30, None),
        "warm_up": RunWarmUp(5, 9.0, 9.0, settled=True),
        "passes": (),
        "split": (SplitRow("user", 1.5, 0.6), SplitRow("waiting", 1.0, 0.4)),
        "lines": (LineRow(PLACE, 1.5, 0.6, "user"),),
        "loop": (),
        "waits": (WaitRow("item", PLACE, 2.0),),
        "loader": None,
        "memory": None,
        "host_memory": None,
        "bias": None,
        "problems": (),
        "ending": Ending(None, "", None),
        "snapshot": None,
        "device": None,
        "live": NO_LIVE,
        "notices": (),
        "facts": (),
        "void": None,
    }
    return LiveRun(**{**known, **more})


def test_a_run_adds_its_lines_and_clocks_to_the_diagnosis():
    page = run_page(live_run(), sync_bound())
    found = render(page)

    assert page.title == "sync-bound: train.py"
    assert page.document["live"]["steps"] == 120
    assert page.document["verdict"]["class"] == "sync-bound"
    assert "train.py:42 step" in found
    assert [row["text"] for row in page.charts["split"]["rows"]] == ["60%  1.50 ms", "40%  1.00 ms"]
    assert "no Python stacks were recorded" not in found


def test_without_a_device_the_page_opens_with_the_host():
    loader = LoaderRow(40, 0, 1.0, 1.0, None, None, None, share=0.4)
    first = run_page(live_run(loader=loader), undecided()).panels[0].blocks[0]

    assert first["words"][-3:] == [
        "Host time: user 60% (1.50 ms), waiting 40% (1.00 ms) a step as sampled.",
        "Top line: train.py:42 step, 60% of the host time, user.",
        "Loading: 40% of the step.",
    ]


def test_with_a_device_it_does_not():
    first = run_page(live_run(device="NVIDIA H200"), undecided()).panels[0].blocks[0]

    assert len(first["words"]) == 1


def test_the_text_of_a_run_without_a_device_opens_with_the_host_too():
    found = render_text(live_run(), undecided(), Look(), Tables())

    assert found.index("host time  user 60%") < found.index("step       ")
    assert found.count("host time ") == 1
    assert "clocks     wall 2.50 ms a step, unobserved (2.00 to 3.00 ms over 30 steps)" in found
    assert "lines       60%   1.50 ms  train.py:42 step  user" in found


def test_so_does_its_markdown_with_a_trace_and_without():
    line = "\n- Top line: train.py:42 step, 60% of the host time, user.\n"

    assert line in render_markdown(live_run(), undecided()).split("## Step")[0]
    assert line in render_markdown(live_run(), None).split("## Live")[0]


def test_a_submission_above_the_step_is_told_to_be_of_other_steps():
    clocks = {"wall": 5.9, "device": 5.9, "low": 5.8, "high": 6.0, "steps": 30, "after": 2.05}
    slower = run_sections.clocks(Clocks(submit=8.21, **clocks), on_device=True)
    as_ever = run_sections.clocks(Clocks(submit=6.0, **clocks), on_device=True)

    assert "submit was timed in slower steps of its own" in slower
    assert slower.endswith("; after the trace 2.05x")
    assert "slower" not in as_ever


def test_steps_after_the_trace_are_not_among_those_observed():
    rows = [PassRow(n, 9, 2.0, 1.5, 0, complete=True) for n in ("clean", "stacks", "after")]

    assert run_sections.ratios(rows) == "stacks 1.50x of the unobserved step"


def test_a_run_that_ended_before_its_trace_is_still_a_page():
    page = run_page(live_run(finished=False, lines=(), waits=(), split=()), None)

    assert page.panels[0].title == "undecided"
    assert page.document["verdict"]["class"] == "undecided"
    reasons = [each for each in panel_of(page, "lines").blocks if each["kind"] == "missing"]
    assert len(reasons) == 4
    assert "the program ended before a trace was there" in render(page)


def test_the_message_of_a_run_that_ran_out_is_told():
    text = (
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total "
        "capacity of 79.15 GiB of which 1.50 GiB is free. Of the allocated memory 76.00 GiB is "
        "allocated by PyTorch, and 512.00 MiB is reserved by PyTorch but unallocated."
    )
    memory = diagnose_text(read_oom_messages(text), text)
    page = run_page(live_run(), None, memory=memory)

    assert memory.verdict.name in render(page)
    assert page.document["memory"]["verdict"]["class"] == memory.verdict.name


def test_the_snapshot_of_a_run_is_drawn():
    memory = diagnose_memory(read_snapshot(MEMORY[0]))
    page = run_page(live_run(), sync_bound(), memory=memory)

    assert {"memory", "composition"} <= page.charts.keys()
    assert "segments" in page.lanes
    assert "Memory over time: a snapshot" not in render(page)
    assert page.document["memory"]["verdict"]["class"] == memory.verdict.name
