"""``boundby report`` and pages of the other commands: dispatch, refusals, source lines."""

import json
import os
import re
import shutil
import time
from pathlib import Path

import pytest

from boundby.cli.demos import demo_file
from boundby.cli.group import COMMANDS
from boundby.cli.output import FORM_OF
from boundby.errors import UsageError
from boundby.read.detect import contents
from recordings import REAL

OOM = (
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total "
    "capacity of 15.90 GiB of which 1.10 GiB is free. Including non-PyTorch memory, this process "
    "has 14.80 GiB memory in use. Of the allocated memory 14.00 GiB is allocated by PyTorch, and "
    "300.00 MiB is reserved by PyTorch but unallocated.\n"
)
EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "transformer_block" / "h200"
GAIN = re.match(r"# (\d+\.\d+)x", (EXAMPLE / "report.md").read_text("utf-8"))[1]
NCU = sorted((REAL / "nsight").glob("*ncu*"))


@pytest.fixture
def inputs(tmp_path):
    """One of each kind of recording, by the class that the page must name."""
    (tmp_path / "train.log").write_text(f"[rank0]: Traceback\n{OOM}")
    shutil.copy(demo_file("item-each-layer"), tmp_path / "trace.json.gz")
    shutil.copy(demo_file("item-each-layer"), tmp_path / "copy.json")
    memory = REAL / "memory" / "fragmentation_oom.pickle.gz"
    shutil.copy(memory, tmp_path / "memory.pickle.gz")
    shutil.copytree(EXAMPLE, tmp_path / "tuned")
    (tmp_path / "traces").mkdir()
    shutil.copy(demo_file("item-each-layer"), tmp_path / "traces" / "rank0.json.gz")
    return tmp_path


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("trace.json.gz", "sync-bound, strong"),
        ("traces", "sync-bound, strong"),
        ("memory.pickle.gz", "fragmentation, strong"),
        ("train.log", "really-full"),
        ("tuned", f"{GAIN}x the throughput"),
        ("tuned/journal.jsonl", f"{GAIN}x the throughput"),
    ],
)
def test_what_was_recorded_is_told_by_its_content(boundby, inputs, name, found):
    done = boundby("report", name, "-o", "out.html", cwd=inputs)

    assert done.returncode == 0, done.stderr
    assert done.stdout == ""
    assert done.stderr == "wrote out.html\n"
    page = (inputs / "out.html").read_text("utf-8")
    assert page.startswith("<!DOCTYPE html>")
    assert f'id="verdict-title">{found}' in page


@pytest.mark.skipif(not NCU, reason="no table of Nsight Compute in tests/real/nsight")
def test_measured_kernels_are_a_page(boundby, tmp_path):
    done = boundby("report", NCU[0], "-o", tmp_path / "out.html")

    assert done.returncode == 0, done.stderr
    assert 'id="kernels"' in (tmp_path / "out.html").read_text("utf-8")


def test_the_report_beside_the_journal_is_what_it_tells(boundby, inputs):
    assert boundby("report", "tuned", "-o", "again.md", cwd=inputs).returncode == 0

    again, kept = (inputs / each for each in ("again.md", "tuned/report.md"))
    assert again.read_text("utf-8") == kept.read_text("utf-8")


def test_a_journal_of_a_run_that_measured_nothing_is_told(boundby, inputs):
    journal = inputs / "tuned" / "journal.jsonl"
    journal.write_text(journal.read_text("utf-8").splitlines()[0] + "\n", "utf-8")
    done = boundby("report", "tuned", cwd=inputs)

    assert done.returncode == 125
    assert "holds no baseline: nothing was measured" in done.stderr


def test_without_a_file_the_report_is_text(boundby, inputs):
    done = boundby("report", "trace.json.gz", cwd=inputs)

    assert done.stdout.startswith("verdict    sync-bound, strong")


def test_a_told_step_is_used(boundby, inputs):
    done = boundby("report", "trace.json.gz", "--step-ms", "4.2", "--json", cwd=inputs)

    assert json.loads(done.stdout)["calibration"]["source"] == "step-ms"


@pytest.mark.parametrize("arguments", [["trace", "trace.json.gz"], ["demo"]])
def test_commands_that_diagnose_write_pages_and_traces(boundby, inputs, arguments):
    for name in ("a.html", "a.perfetto.json"):
        done = boundby(*arguments, "-o", name, cwd=inputs)
        assert done.returncode == 0, done.stderr
    assert "Two timelines of a typical step" in (inputs / "a.html").read_text("utf-8")
    assert json.loads((inputs / "a.perfetto.json").read_text())["traceEvents"]


def test_a_snapshot_is_a_trace_of_counters(boundby, inputs):
    done = boundby("memory", "memory.pickle.gz", "-o", "a.perfetto.json", cwd=inputs)

    assert done.returncode == 0, done.stderr
    assert {e["ph"] for e in json.loads((inputs / "a.perfetto.json").read_text())["traceEvents"]}


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["trace", "a.json", "b.json", "-o", "x.html"], "x.html: holds one recording"),
        (["trace", "a.json", "b.json", "-o", "x.perfetto.json"], "holds one recording"),
        (["memory", "a.pickle", "b.pickle", "-o", "x.html"], "x.html: holds one recording"),
        (["memory", "a.pickle", "b.pickle", "--perfetto", "x.json"], "x.json: holds one recording"),
        (["memory", "train.log", "-o", "x.perfetto.json"], "a text has no history"),
        (["compare", "a.json", "b.json", "-o", "x.perfetto.json"], "compare has no timeline"),
        (["memory", "--compare", "a", "b", "-o", "x.perfetto.json"], "--compare has no timeline"),
        (["report", "tuned", "-o", "x.perfetto.json"], "a tuning run has no timeline"),
        (["report", "trace.json.gz", "-o", "x.pdf"], "no report format has the extension"),
        (["report", "copy.json", "-o", "copy.json", "--force"], "is what the report is made from"),
    ],
)
def test_what_does_not_go_together_is_refused(boundby, inputs, arguments, says):
    done = boundby(*arguments, cwd=inputs)

    assert done.returncode == UsageError.exit_code
    assert says in done.stderr
    assert "\nhint: " in done.stderr


def test_what_is_not_there_is_told(boundby, tmp_path):
    done = boundby("report", "nothing.json", "-o", "out.html", cwd=tmp_path)

    assert done.returncode == 125
    assert done.stderr.startswith("nothing.json does not exist")


def test_a_page_is_not_overwritten(boundby, inputs):
    (inputs / "out.html").write_text("mine")

    assert boundby("demo", "-o", "out.html", cwd=inputs).returncode == UsageError.exit_code
    assert (inputs / "out.html").read_text() == "mine"


def with_stacks(tmp_path):
    """A recording with stacks beside the source it was made from, which is older."""
    source = tmp_path / "twins.py"
    lines = [f"# line {number}" for number in range(1, 400)]
    source.write_text("\n".join(lines))
    trace = tmp_path / "stacks.json.gz"
    shutil.copy(REAL / "pair_item_each_layer.stack.json.gz", trace)
    past = time.time() - 1000
    os.utime(source, (past, past))
    return source, trace


def test_lines_of_the_source_are_left_out_on_request(boundby, tmp_path):
    source, trace = with_stacks(tmp_path)
    document = json.loads(boundby("trace", trace, "--json", cwd=tmp_path).stdout)
    place = next(row["where"][0] for row in document["syncs"] if row["where"])
    lines = source.read_text().splitlines()
    assert place["function"] == "<lambda>"
    lines[place["line"] - 1] = "step = lambda x: x.item()  # SHOWN"
    source.write_text("\n".join(lines))
    os.utime(source, (time.time() - 1000,) * 2)

    for options, shown in ([], True), (["--no-source"], False):
        done = boundby("trace", trace, "-o", "a.html", "--force", *options, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        assert ("# SHOWN" in (tmp_path / "a.html").read_text("utf-8")) is shown


def test_a_file_outside_the_working_directory_is_never_shown(boundby, tmp_path):
    source, trace = with_stacks(tmp_path)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()

    done = boundby("trace", trace, "-o", "a.html", cwd=elsewhere)

    assert done.returncode == 0, done.stderr
    assert source.name in (elsewhere / "a.html").read_text("utf-8")
    assert "# line" not in (elsewhere / "a.html").read_text("utf-8")


def test_a_report_without_pictures_is_a_page_of_its_text(boundby, inputs):
    for name in ("a.json", "b.json"):
        (inputs / name).write_text(boundby("demo", "--json").stdout)
    done = boundby("compare", "a.json", "b.json", "-o", "out.html", cwd=inputs)

    assert done.stderr == "wrote out.html\n"
    page = (inputs / "out.html").read_text("utf-8")
    assert "<title>boundby compare</title>" in page
    assert "verdict" in page


@pytest.mark.parametrize(
    ("name", "raw", "about"),
    [
        ("a.json", b'{"traceEvents": []}', "time"),
        ("a.sqlite", b"SQLite format 3\0", "time"),
        ("a", b"PK\x03\x04", "time"),
        ("a", b"\x80\x04\x95", "memory"),
        ("a.pickle", b"(dp0\n", "memory"),
        ("a.csv", b"anything", "kernels"),
        ("a", b'"ID","Process ID","Process Name"', "kernels"),
        ("a.log", b"[rank0]: Traceback", "text"),
        ("a", b"Epoch 1\nTraceback", "text"),
    ],
)
def test_contents_are_told_by_first_bytes_and_name(tmp_path, name, raw, about):
    (tmp_path / name).write_bytes(raw)

    assert contents(tmp_path / name) == about


def test_every_form_has_its_extension_in_the_help(boundby):
    text = boundby("report", "--help").stdout

    assert "report" in COMMANDS
    assert all(suffix in text for suffix in FORM_OF)
    assert Path("a.perfetto.json").suffix in FORM_OF
