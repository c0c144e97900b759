"""``boundby tune``: what goes wrong ends in one line; what goes right is real, and small."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import jsonschema
import pytest

from boundby.cli import main
from boundby.cli.tune import command
from boundby.errors import BoundbyError
from boundby.experiment.journal import FILE, Journal
from boundby.experiment.settings import Settings
from boundby.report.tune_document import schema

WORKLOADS = Path(__file__).parents[1] / "unit" / "experiment" / "workloads.py"
ENDINGS = WORKLOADS.with_name("endings.py")
SCRIPT = WORKLOADS.with_name("script.py")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("missing.py",), "missing.py: no such file"),
        (("missing.py:Workload",), "missing.py: no such file"),
        (("mine",), "mine: neither a script nor MODULE:CLASS"),
        ((f"{SCRIPT}:W", "--allow", "everything"), "--allow: no kind 'everything'"),
        ((f"{SCRIPT}:W", "--only", "faster"), "no change 'faster'"),
    ],
)
def test_what_cannot_be_tuned_is_a_usage_error(boundby, tmp_path, arguments, said):
    done = boundby("tune", *arguments, cwd=tmp_path)

    assert done.returncode == 2
    assert said in done.stderr
    assert "hint: " in done.stderr
    assert not list(tmp_path.iterdir())


def test_a_folder_that_cannot_hold_a_journal(boundby, tmp_path):
    (tmp_path / "file").write_text("")
    done = boundby("tune", "--journal", tmp_path / "file" / "j", SCRIPT)

    assert done.returncode == 125
    assert "cannot keep a journal" in done.stderr


def test_a_working_folder_that_cannot_hold_a_journal(boundby, tmp_path):
    (tmp_path / "boundby_runs").write_text("")
    done = boundby("tune", f"{ENDINGS}:Hanging", cwd=tmp_path)

    assert done.returncode == 125
    assert "boundby_runs: cannot keep a journal" in done.stderr


def test_a_module_that_cannot_be_imported(boundby, tmp_path):
    (tmp_path / "broken.py").write_text("raise ImportError('no such part')\n")
    missing = boundby("tune", "nowhere:Workload", "--journal", tmp_path / "a", cwd=tmp_path)
    broken = boundby("tune", "broken.py:Workload", "--journal", tmp_path / "b", cwd=tmp_path)

    assert (missing.returncode, broken.returncode) == (2, 125)
    assert "no module 'nowhere'" in missing.stderr
    assert "the unchanged program: ImportError: no such part" in broken.stderr
    assert "hint: " in broken.stderr


def test_the_journal_of_another_program(boundby, tmp_path):
    Journal(tmp_path, Settings("other:Workload"))
    done = boundby("tune", "--journal", tmp_path, SCRIPT)

    assert done.returncode == 2
    assert "journal of another program" in done.stderr


def test_a_class_that_is_no_workload(boundby, tmp_path):
    done = boundby("tune", f"{ENDINGS}:WithoutLoss", "--journal", tmp_path)

    assert done.returncode == 2
    assert "no method 'loss'" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("typed", "what", "arguments", "trials"),
    [
        (
            ["--trials", "3", "a.py", "--trials", "9", "--help"],
            "a.py",
            ("--trials", "9", "--help"),
            3,
        ),
        (["a.py", "--", "-o"], "a.py", ("--", "-o"), None),
        (["a.py:Workload", "--trials", "3"], "a.py:Workload", (), 3),
        (["-o", "tuned.md", "mine:Workload", "--trials", "3"], "mine:Workload", (), 3),
    ],
)
def test_options_behind_a_script_are_its_own(typed, what, arguments, trials):
    found = command.make_context("tune", typed).params

    assert (found["what"], found["arguments"], found["trials"]) == (what, arguments, trials)


def test_options_behind_a_script_that_boundby_knows_are_told(boundby, tmp_path):
    script = tmp_path / "ends.py"
    script.write_text("import torch\n")
    done = boundby("tune", script, "--minutes=1", "--epochs", "2", "--journal", "j", cwd=tmp_path)

    assert done.returncode == 125
    told = [each for each in done.stderr.splitlines() if "stands before the script" in each]
    assert [each.split(" went to ")[0] for each in told] == ["--minutes=1", "--journal"]
    assert not (tmp_path / "j").exists()
    assert "no torch optimizer made a step in the script" in done.stderr
    assert "hint: a script must use a torch optimizer" in done.stderr


def test_options_that_the_script_took_are_not_told(monkeypatch, capsys):
    def refused(*_):
        raise BoundbyError("it fails", "mend it")

    typed = ["tune", str(SCRIPT), "--epochs", "1", "--steps", "3000"]
    note = f"--steps went to {SCRIPT}; an option of boundby stands before the script\n"
    monkeypatch.setattr("boundby.cli.tune._text", lambda *_: "told\n")
    monkeypatch.setattr("boundby.cli.tune._tune", lambda *_: None)
    passed, said = main(typed), capsys.readouterr()
    monkeypatch.setattr("boundby.cli.tune._tune", refused)
    failed, failure = main(typed), capsys.readouterr()

    assert (passed, said.out, said.err) == (0, "told\n", "")
    assert failed != 0
    assert failure.err.startswith(note)


def test_a_class_that_is_not_there_is_told_as_it_was_typed(boundby, tmp_path):
    missing = boundby("tune", f"{WORKLOADS}:Nope", "--journal", tmp_path / "a")
    (tmp_path / "bare.py").write_text("def train(): ...\n", "utf-8")
    bare = boundby("tune", "bare.py:Nope", cwd=tmp_path)

    assert (missing.returncode, bare.returncode) == (2, 2)
    assert f"{WORKLOADS}:Nope: no 'Nope' in {WORKLOADS}\n" in missing.stderr
    assert "hint: name one of its classes: Small, " in missing.stderr
    assert "function" not in missing.stderr + bare.stderr


def test_an_interrupt_in_the_middle_tells_where_the_journal_is(tmp_path, monkeypatch, capsys):
    def interrupted(_lab, journal, *_):
        journal.append({"kind": "trial"})
        raise KeyboardInterrupt

    monkeypatch.setattr("boundby.experiment.tune.tune", interrupted)
    code = main(["tune", f"{WORKLOADS}:Small", "--journal", str(tmp_path)])
    said = capsys.readouterr().err

    assert code == 130
    assert said.startswith("interrupted\n")
    assert f"hint: boundby report {tmp_path} tells what was measured" in said


@pytest.mark.skipif(not hasattr(signal, "SIGINT"), reason="no signals")
def test_an_interrupt_leaves_the_journal(tmp_path):
    code = "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler); "
    code += "from boundby.cli import main; sys.exit(main(sys.argv[1:]))"
    process = subprocess.Popen(
        [sys.executable, "-c", code, "tune", f"{ENDINGS}:Hanging", "--journal", tmp_path],
        stderr=subprocess.PIPE,
        text=True,
    )
    until = time.monotonic() + 60
    while not list(tmp_path.glob("processes/*/request.json")) and time.monotonic() < until:
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)

    assert process.returncode == 130
    assert "interrupted" in said
    assert "Traceback" not in said
    assert json.loads((tmp_path / FILE).read_text("ascii"))["kind"] == "header"


@pytest.fixture(scope="module")
def tuned(tmp_path_factory):
    """A real run: the first attention is wrong for the second layout of its gradient."""
    folder = tmp_path_factory.mktemp("tuned")
    asked = ["--only", "sdpa", "--steps", "4", "--trials", "2", "--json", "--journal", str(folder)]
    done = subprocess.run(
        [sys.executable, "-m", "boundby", "tune", f"{WORKLOADS}:Small", *asked],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "OMP_NUM_THREADS": "1", "MY_TOKEN": "hunter2-hunter2"},
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return json.loads(done.stdout), folder


def test_a_real_run_starts_from_a_baseline_that_is_right(tuned):
    document, _ = tuned

    assert document["ended"] == "no more trials than 2 were asked for"
    assert document["baseline"]["correct"] is True
    assert document["baseline"]["samples"] == 4
    assert [each["change"] for each in document["path"]] == ["baseline", "sdpa", "sdpa"]
    jsonschema.Draft202012Validator(schema()).validate(document)


def test_a_gradient_wrong_for_its_second_layout_is_rejected(tuned):
    first = tuned[0]["trials"][1]

    assert (first["value"], first["decision"]) == ("own:planted", "rejected")
    assert first["gate"]["error"] < first["gate"]["limit"]
    assert "grad" in first["why"]
    assert first["step_ms"] is None


def test_and_the_loop_goes_on_with_another_kernel(tuned):
    second = tuned[0]["trials"][2]

    assert second["value"] == "default"
    assert second["correct"] is True
    assert second["interleaved"]
    assert second["step_ms"] > 0


def test_nothing_of_the_environment_is_kept(tuned):
    files = [each for each in tuned[1].rglob("*") if each.is_file()]

    assert any(each.name == "request.json" for each in files)
    assert not any(b"hunter2" in each.read_bytes() for each in files)
