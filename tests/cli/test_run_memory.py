"""Memory in the report of a run: the same verdicts and lines as of a snapshot alone."""

import json
import shutil
from pathlib import Path

import jsonschema
import pytest

import boundby as package
from boundby.capture.tape import RunFolder
from boundby.read.capture_folder import SNAPSHOT, Row
from gpu.memory_verify import ending_mistakes, mistakes_of

HERE = Path(__file__).resolve().parents[1]
PLANTED = HERE / "real" / "memory" / "planted"
TRUTH = json.loads((PLANTED / "truth.json").read_text())
MEMORY_SCHEMA = json.loads(
    (Path(package.__file__).parent / "data" / "memory-schema-v1.json").read_text()
)
UNDER_A_RUN = ("leak_graph", "leak_list", "fragmentation", "peak", "full")

RUNS_OUT = """\
import torch
from boundby.capture import running  # stands for the allocator, which would call the same
SNAPSHOT = {snapshot!r}
def dump(file):
    with open(SNAPSHOT, 'rb') as known, open(file, 'wb') as out:
        out.write(known.read())
torch.cuda.memory._dump_snapshot = dump
def fill():
    running.current[0]._history._ran_out(0, 128 << 20, 4 << 30, 135 << 30)
    raise torch.OutOfMemoryError({text!r})
{before}
fill()
"""
STEPS = """\
model = torch.nn.Linear(4, 4)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(30):
    model(torch.zeros(2, 4)).sum().backward(); optimizer.step(); optimizer.zero_grad()
"""


@pytest.fixture
def kept(tmp_path):
    """Make the folder of a run over three steps, with a snapshot in it; its path."""

    def make(snapshot, notes=()):
        place = tmp_path / "run"
        folder = RunFolder(place)
        folder.describe({"version": 1, "script": "train.py", "rank": None})
        folder.note("pass", id=1, name="clean", steps=3)
        folder.tape.put(Row.PASS, 1000, 1, 0)
        for step in range(1, 4):
            folder.tape.put(Row.STEP, 1000 + 10 * step, step, 1)
        for name, values in notes:
            folder.note(name, **values)
        if snapshot is not None:
            shutil.copy(snapshot, place / SNAPSHOT)
        return place

    return make


def reading(step, used, capacity=24 << 30):
    names = ("allocated_bytes_current", "allocated_bytes_peak", "reserved_bytes_current")
    values = dict.fromkeys((*names, "reserved_bytes_peak"), used)
    return "memory", {"step": step, "capacity": capacity, "retries": 0, **values}


@pytest.mark.parametrize("name", UNDER_A_RUN)
def test_a_run_names_the_planted_cause_and_its_line(name, kept, boundby):
    place = kept(PLANTED / f"{name}.pickle.gz")
    done = boundby("run", "--read", place, "--json")
    document = json.loads(done.stdout)
    line = TRUTH["planted"][name]["line"]
    mistakes = [text for text in mistakes_of(name, document, line) if "exactly" not in text]

    jsonschema.validate(document["memory"], MEMORY_SCHEMA)
    assert mistakes == []

    text = boundby("run", "--read", place).stdout
    verdict, cause = TRUTH["planted"][name]["class"], TRUTH["planted"][name]["cause"]
    assert f"memory     {verdict}, " in text
    assert cause in text
    assert f":{line}" in text.replace("\n", "").replace(" ", "")

    assert boundby("run", "--read", place, "-o", place / "out.md").returncode == 0
    written = (place / "out.md").read_text()
    assert f"## Memory: {verdict}, " in written
    assert f":{line}`" in written


def test_the_check_of_the_gpu_script_can_fail(kept, boundby):
    """Its logic is tested here, since no device is."""
    place = kept(PLANTED / "leak_graph.pickle.gz")
    document = json.loads(boundby("run", "--read", place, "--json").stdout)

    assert mistakes_of("leak_graph", document, 47) == [
        "line [48] for 47", "parameters are not named exactly"
    ]  # fmt: skip
    assert "for ('leak', 'kept-outputs')" in mistakes_of("leak_list", document, 48)[0]
    assert mistakes_of("peak", {"memory": None}, 1) == ["no memory in the document"]
    own = "File memory_plants.py\ntorch.OutOfMemoryError: CUDA out of memory"
    assert ending_mistakes("full", own, 1) == []
    assert len(ending_mistakes("full", "boundby/capture/history.py", 0)) == 3
    assert ending_mistakes("peak", "", 1) == ["exit code 1"]


@pytest.mark.parametrize("before", ["", STEPS], ids=["before-any-step", "after-steps"])
def test_running_out_of_memory_is_reported_at_once_and_first(before, tmp_path, boundby):
    text = TRUTH["texts"]["full"]
    script = tmp_path / "train.py"
    script.write_text(
        RUNS_OUT.format(snapshot=str(PLANTED / "full.pickle.gz"), text=text, before=before)
    )
    done = boundby("run", "--folder", tmp_path / "kept", script)

    assert done.returncode == 1
    assert done.stdout.startswith("memory     really-full, strong; cause: limit\n")
    assert f":{TRUTH['planted']['full']['line']}" in done.stdout
    own = [row for row in done.stderr.splitlines() if row.startswith("  File ")]
    assert [Path(row.split('"')[1]).name for row in own] == ["train.py", "train.py"]
    assert done.stderr.rstrip().endswith(text)


def test_without_a_snapshot_torchs_own_message_is_judged(kept, boundby):
    place = kept(
        None, [("end", {"exception": "OutOfMemoryError", "message": TRUTH["texts"]["full"]})]
    )
    document = json.loads(boundby("run", "--read", place, "--json").stdout)

    jsonschema.validate(document["memory"], MEMORY_SCHEMA)
    assert document["memory"]["source"]["format"] == "oom-text"
    assert document["memory"]["verdict"]["class"] == "really-full"


def test_a_run_without_snapshot_or_message_knows_no_verdict_on_memory(kept, boundby):
    place = kept(None, [reading(1, 1 << 30), reading(2, 2 << 30)])
    document = json.loads(boundby("run", "--read", place, "--json").stdout)

    assert document["memory"] is None
    assert [row["allocated"] for row in document["live"]["memory"]["steps"]] == [1 << 30, 2 << 30]
    assert document["live"]["memory"]["growth"] == 1 << 30


def test_a_snapshot_that_cannot_be_read_leaves_the_rest_of_the_report(kept, boundby, tmp_path):
    (tmp_path / "bad.pickle").write_bytes(b"\x80\x04cos\nsystem\n.")
    place = kept(tmp_path / "bad.pickle")
    done = boundby("run", "--read", place, "--json")

    assert done.returncode == 0
    assert json.loads(done.stdout)["memory"] is None
    assert "tells nothing" in json.loads(done.stdout)["live"]["problems"][0]


@pytest.mark.parametrize("name", ["healthy", "peak_optimizer_foreach", "really_full",
                                  "eval_without_no_grad", "fragmentation_dynamic_shapes",
                                  "leak_loss_graph"])  # fmt: skip
def test_a_recorded_snapshot_in_a_run_gets_the_verdict_it_gets_alone(name, shared, kept, boundby):
    file = shared / "snapshots" / "h200" / f"{name}.pickle.gz"
    document = json.loads(boundby("run", "--read", kept(file), "--json").stdout)
    alone = json.loads(boundby("memory", file, "--json").stdout)

    assert document["memory"]["verdict"] == alone["verdict"]
    assert document["memory"]["peak"] == alone["peak"]
