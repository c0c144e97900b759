"""``boundby memory`` as a process: what comes out where, and with which exit code."""

import gzip
import json
import os
import pickle
import subprocess
import sys
from pathlib import Path

import jsonschema
import pytest

import boundby as package

REAL = Path(__file__).resolve().parents[1] / "real" / "memory"
SCHEMA = json.loads((Path(package.__file__).parent / "data" / "memory-schema-v1.json").read_text())
SNAPSHOTS = sorted(path.name for path in REAL.glob("*.pickle.gz"))
OOM = (
    "[rank0]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 3.00 GiB. GPU 0 has a "
    "total capacity of 24.00 GiB of which 1.50 GiB is free. Of the allocated memory 21.00 GiB is "
    "allocated by PyTorch, and 40.00 MiB is reserved by PyTorch but unallocated."
)


@pytest.mark.parametrize("name", SNAPSHOTS)
def test_the_document_of_a_snapshot_is_as_described(boundby, name):
    done = boundby("memory", REAL / name, "--json")
    document = json.loads(done.stdout)

    assert (done.returncode, done.stderr) == (0, "")
    jsonschema.validate(document, SCHEMA)
    assert next(iter(document)) == "schema_version"
    assert sum(row["share"] or 0 for row in document["composition"]) == pytest.approx(1)
    assert "/home/" not in done.stdout
    assert done.stdout.isascii()


def test_the_report_opens_with_the_verdict_and_ends_with_what_to_type(boundby):
    done = boundby("memory", REAL / "leak_list_outputs.pickle.gz")

    assert done.returncode == 0
    assert done.stdout.startswith("verdict    leak, strong; cause: kept-outputs\n")
    assert "boundby explain leak" in done.stdout.splitlines()[-2]
    assert "\x1b" not in done.stdout


def test_a_log_on_stdin(boundby):
    done = boundby("memory", "-", "--json", input=f"step 3\n{OOM}\nbye\n")
    document = json.loads(done.stdout)

    jsonschema.validate(document, SCHEMA)
    assert document["verdict"]["class"] == "really-full"
    assert document["messages"][0]["requested"] == 3 << 30
    assert document["messages"][0]["rank"] == 0


@pytest.mark.parametrize("format_", [".md", ".html", None])
def test_of_the_hosts_memory_nothing_is_said_about_tensors(boundby, tmp_path, format_):
    log, out = tmp_path / "job.log", tmp_path / f"report{format_}"
    log.write_text("Reason:       OOMKilled\n")

    done = boundby("memory", log, *(["-o", out] if format_ else []))
    said = " ".join((out.read_text() if format_ else done.stdout).split())

    assert "The host ran out of memory, not the device" in said
    assert "Live tensors fill" not in said


def test_growth_that_could_not_be_tested_is_not_said_to_be_none(boundby, tmp_path):
    packed = (REAL / "leak_list_outputs.pickle.gz").read_bytes()
    snapshot = pickle.loads(gzip.decompress(packed))  # noqa: S301 - a file of these tests
    for entry in snapshot["device_traces"][0]:
        entry.pop("frames", None)
    path = tmp_path / "no_stacks.pickle"
    path.write_bytes(pickle.dumps(snapshot))

    said = " ".join(boundby("memory", path).stdout.split())

    assert said.startswith("verdict healthy, weak No peak stands out")
    assert "whether memory grows could not be tested" in said
    assert "Nothing grows" not in said


def test_a_log_as_a_file(boundby, tmp_path):
    log = tmp_path / "train.log"
    log.write_text(OOM)

    assert boundby("memory", log).stdout.startswith("verdict    really-full")


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        pytest.param(["nothing.pickle"], 125, "no such file", id="missing"),
        pytest.param([], 2, "no snapshot, log or --model", id="nothing"),
        pytest.param(["-"], 125, "neither a snapshot nor", id="empty-text"),
        pytest.param(["--compare", "a"], 2, "takes two", id="one-to-compare"),
        pytest.param(["--model", "nowhere"], 2, "module:factory", id="model"),
    ],
)
def test_mistakes_have_a_code_and_a_hint(boundby, arguments, code, said):
    done = boundby("memory", *arguments, input="")

    assert (done.returncode, done.stdout) == (code, "")
    assert said in done.stderr
    assert "hint: " in done.stderr


@pytest.mark.parametrize(
    ("mode", "option"),
    [
        (["--model", "train:build"], ["a.pickle"]),
        (["--model", "train:build"], ["--expect", "leak"]),
        (["--model", "train:build"], ["--perfetto", "curves.json"]),
        (["--model", "train:build"], ["--device", "0"]),
        (["--model", "train:build"], ["--compare"]),
        (["--compare", "a.pickle", "b.pickle"], ["--expect", "leak"]),
        (["--compare", "a.pickle", "b.pickle"], ["--perfetto", "curves.json"]),
        (["--compare", "a.pickle", "b.pickle"], ["--capacity", "24"]),
        (["--compare", "a.pickle", "b.pickle"], ["--map"]),
        (["a.pickle"], ["--batch", "8"]),
    ],
)
def test_what_would_change_nothing_is_not_passed_over(boundby, mode, option):
    done = boundby("memory", *mode, *option)
    name = option[0] if option[0].startswith("-") else "SNAPSHOT"

    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"{name} does nothing with")
    assert "\n\nhint: " in done.stderr


@pytest.mark.parametrize("option", [["--map"], ["--device", "0"], ["--capacity", "24"]])
def test_what_only_a_snapshot_has_is_not_asked_of_a_text(boundby, option):
    done = boundby("memory", "-", *option, input=OOM)

    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"{option[0]} does nothing with a text: stdin")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        pytest.param(["--capacity", "1e300", "a"], "is not in the range", id="capacity"),
        pytest.param(["--max-gib", "1e300", "a"], "is not in the range", id="limit"),
        pytest.param(["a", "--perfetto", "-"], "stdout holds the report", id="curves-to-stdout"),
    ],
)
def test_amounts_and_places_that_cannot_be_are_usage(boundby, arguments, said):
    done = boundby("memory", *arguments)

    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr


@pytest.mark.parametrize("options", [(), ("--compare", REAL / "healthy.pickle.gz")])
def test_what_is_no_file_is_told_as_what_it_is(boundby, tmp_path, options):
    pipe = tmp_path / "pipe.pickle"
    os.mkfifo(pipe)

    for place, said in ((tmp_path, "a folder"), (pipe, "a pipe"), (tmp_path / "x", "no such file")):
        done = boundby("memory", *options, place)
        assert (done.returncode, done.stdout) == (125, "")
        assert done.stderr.startswith(f"{place}: {said}")


def test_a_log_may_be_packed_or_written_by_windows(boundby, tmp_path):
    for name, raw in (
        ("train.log.gz", gzip.compress(OOM.encode())),
        ("train.log", b"\xff\xfe" + OOM.encode("utf-16-le")),
    ):
        (tmp_path / name).write_bytes(raw)
        assert boundby("memory", tmp_path / name).stdout.startswith("verdict    really-full")


def test_a_snapshot_on_stdin_is_told_as_one():
    command = [sys.executable, "-m", "boundby", "memory", "-"]
    raw = (REAL / "healthy.pickle.gz").read_bytes()
    done = subprocess.run(command, input=raw, capture_output=True, check=False)

    assert (done.returncode, done.stdout) == (125, b"")
    assert done.stderr.startswith(b"stdin holds a snapshot")


@pytest.mark.parametrize("width", [80, 120])
@pytest.mark.parametrize("name", SNAPSHOTS)
def test_a_report_is_as_wide_as_what_it_goes_to(name, width):
    from boundby.memory.diagnose import diagnose
    from boundby.read.memory_snapshot import read_snapshot
    from boundby.report.memory_text import Pictures, render
    from boundby.report.terminal import Look

    found = diagnose(read_snapshot(REAL / name))
    code = {row.strip() for remedy in found.prescriptions for row in remedy.how.splitlines()}
    lines = render(found, Look(width=width), Pictures(map=True)).splitlines()
    own = [line for line in lines if line.strip() not in code and "boundby memory " not in line]

    assert [line for line in own if len(line) > width] == []
    assert not any("; fits ..." in line for line in own)


def test_an_expected_class_that_is_not_met_fails(boundby):
    path = REAL / "healthy.pickle.gz"

    assert boundby("memory", path, "--expect", "healthy").returncode == 0
    assert boundby("memory", path, "--expect", "leak").returncode == 1


def test_several_inputs_are_reported_one_after_the_other(boundby):
    done = boundby(
        "memory", REAL / "healthy.pickle.gz", REAL / "peak_attention.pickle.gz", "--json"
    )

    classes = [json.loads(line)["verdict"]["class"] for line in done.stdout.splitlines()]
    assert classes == ["healthy", "transient-peak"]


def test_two_snapshots_compared_by_line(boundby):
    paths = REAL / "healthy.pickle.gz", REAL / "leak_list_outputs.pickle.gz"
    done = boundby("memory", "--compare", *paths, "--json")
    document = json.loads(done.stdout)

    assert document["before"]["class"] == "healthy"
    assert document["after"]["device"] == 0
    assert document["lines"][0]["difference_bytes"] > 50 << 20
    assert "verdict    healthy -> leak" in boundby("memory", "--compare", *paths).stdout


def test_the_curves_for_perfetto(boundby, tmp_path):
    target = tmp_path / "memory.json"
    done = boundby("memory", REAL / "fragmentation_oom.pickle.gz", "--perfetto", target)
    events = json.loads(target.read_text())["traceEvents"]

    assert f"wrote {target}" in done.stderr
    assert max(e["args"]["in use"] for e in events if e["ph"] == "C") == 2865 << 20
    assert [e["name"] for e in events if e["ph"] == "i"] == ["out of memory: 734003200 bytes"]


def test_the_map_draws_segments(boundby):
    done = boundby("memory", REAL / "fragmentation_oom.pickle.gz", "--map")

    assert "segments    20.0 MiB   25%" in done.stdout


def test_markdown_goes_to_a_file(boundby, tmp_path):
    target = tmp_path / "report.md"
    boundby("memory", REAL / "peak_attention.pickle.gz", "-o", target)

    assert target.read_text().startswith("# transient-peak, strong")


@pytest.mark.parametrize("name", SNAPSHOTS)
def test_everything_a_report_names_can_be_explained(name):
    from boundby.memory.diagnose import diagnose
    from boundby.prescribe.catalogue import RULES
    from boundby.read.memory_snapshot import read_snapshot
    from boundby.topics import find

    found = diagnose(read_snapshot(REAL / name))
    words = {found.verdict.name, *found.verdict.because, *(r.id for r in found.prescriptions)}
    words |= {fact.id for fact in found.evidence} | {finding.id for finding in found.quality}
    words |= {found.verdict.cause} - {None}
    known = {rule.id for rule in RULES}

    assert [word for word in words if find(word) is None and word not in known] == []


def test_every_remedy_can_be_explained():
    from boundby.memory.remedies import EVERY
    from boundby.prescribe.catalogue import RULES
    from boundby.topics import find

    known = {rule.id for rule in RULES}
    assert [r.id for r in EVERY if find(r.id) is None and r.id not in known] == []


def test_no_torch_is_loaded_for_a_snapshot(boundby):
    code = (
        "import sys\nfrom boundby.cli import main\n"
        f"main(['memory', {str(REAL / 'healthy.pickle.gz')!r}])\n"
        "assert 'torch' not in sys.modules and 'psutil' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)


def trades(done):
    rows = json.loads(done.stdout)["prescriptions"]
    return {row["id"]: (row["trade"]["pays"], row["trade"]["why"]) for row in rows}


def test_advice_says_what_it_depends_on_until_the_time_is_known(boundby):
    path = REAL / "peak_attention.pickle.gz"
    unknown = trades(boundby("memory", path, "--json"))
    busy = boundby("memory", path, "--json", "--time-class", "compute-bound")
    idle = trades(boundby("memory", path, "--json", "--time-class", "launch-bound"))

    assert unknown["checkpointing"] == (
        None, "depends on what bounds the step in time: give --time-class or --trace"
    )  # fmt: skip
    assert trades(busy)["checkpointing"][0] is False
    assert json.loads(busy.stdout)["time"] == {"class": "compute-bound", "device_busy": None}
    assert idle["checkpointing"][0] is None
    assert idle["bf16"][0] is False
    assert "does not pay: the step is compute-bound" in boundby(
        "memory", path, "--time-class", "compute-bound", "-v"
    ).stdout.replace("\n", " ")


def test_a_recording_says_what_bounds_the_step(boundby):
    trace = REAL.parent / "pair_pageable_h2d.json.gz"
    done = boundby("memory", REAL / "peak_attention.pickle.gz", "--json", "--trace", trace)
    time = json.loads(done.stdout)["time"]

    assert time["class"] == "sync-bound"
    assert 0 < time["device_busy"] < 1


def test_two_answers_about_the_time_are_one_too_many(boundby):
    done = boundby("memory", "a.pickle", "--time-class", "sync-bound", "--trace", "b.json")

    assert done.returncode == 2
    assert "--time-class and --trace" in done.stderr


@pytest.mark.parametrize("options", [("-o",), ("--perfetto",)])
def test_what_is_read_is_never_written_over(boundby, tmp_path, options):
    log = tmp_path / "train.json"
    log.write_text(OOM)
    done = boundby("memory", log, *options, log, "--force")

    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"{log}: is what the report is made from\n\nhint: ")
    assert log.read_text() == OOM


def test_two_results_are_not_written_into_one_file(boundby, tmp_path):
    target = tmp_path / "both.json"
    done = boundby("memory", tmp_path / "none", "--perfetto", target, "-o", target, "--force")

    assert done.returncode == 2
    assert done.stderr.startswith(f"{target}: is named by --perfetto and by -o\n\nhint: ")
    assert not target.exists()


def test_a_place_for_the_curves_that_is_none_is_told(boundby, tmp_path):
    target = tmp_path / "no" / "x.json"
    done = boundby("memory", REAL / "fragmentation_oom.pickle.gz", "--perfetto", target)

    assert done.returncode == 125
    assert done.stderr.endswith("hint: name another file with --perfetto\n")


@pytest.mark.parametrize("text", [None, "{}", "no JSON"])
def test_a_list_of_pointers_that_is_none_is_one_line_and_a_hint(boundby, tmp_path, text):
    names = tmp_path / "names.json"
    if text is not None:
        names.write_text(text)
    done = boundby("memory", REAL / "fragmentation_oom.pickle.gz", "--names", names)

    assert (done.returncode, done.stdout) == (125, "")
    message, blank, hint = done.stderr.splitlines()
    assert (message.startswith(str(names)), blank) == (True, "")
    assert hint.startswith("hint: ")
    assert "--names" in hint
