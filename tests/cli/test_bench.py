"""``boundby bench``: forms, places, exit codes, and whose traceback it is."""

import json
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
PROGRAMS = f"{HERE / 'programs_under_test.py'}::"
QUICK = ("--min-run-time", "0.02")


def test_the_report_names_the_three_clocks_and_the_caliber(boundby):
    done = boundby("bench", f"{PROGRAMS}plain", "--inputs", f"{PROGRAMS}inputs", *QUICK)

    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    lines = [line.split() for line in done.stdout.splitlines()]
    assert {"wall", "submit"} <= {words[0] for words in lines if words}
    assert "16x64" in done.stdout
    assert "\x1b" not in done.stdout


def test_a_module_is_found_from_the_working_folder(boundby):
    done = boundby("bench", "programs_under_test:quick", *QUICK, "--json", cwd=HERE)
    document = json.loads(done.stdout)

    assert list(document)[:2] == ["schema_version", "kind"]
    assert document["labels"]["stmt"] == "programs_under_test:quick"
    assert min(document["wall"]["ns"]) >= 1e6
    assert document["caliber"]["script_hash"]


def test_markdown_by_extension(boundby, tmp_path):
    target = tmp_path / "a.md"
    boundby("bench", f"{PROGRAMS}quick", *QUICK, "--label", "quick", "-o", target)

    assert target.read_text("utf-8").startswith("# quick\n\n| clock |")


def test_an_exception_of_the_target_is_its_own(boundby):
    done = boundby("bench", f"{PROGRAMS}fails")
    first, *_ = done.stderr.splitlines()

    assert done.returncode == 125
    assert first.startswith(f"{PROGRAMS}fails raised ValueError: no such luck (")
    assert first.endswith("in fails)")
    assert "Traceback" not in done.stderr
    assert "Traceback" in boundby("bench", f"{PROGRAMS}fails", "-v").stderr


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ("nonsense", "nonsense: no target"),
        ("missing.py::f", "missing.py: no such file"),
        ("no_such_module:f", "no module 'no_such_module'"),
        (f"{PROGRAMS}missing", "no 'missing' in"),
        (f"{PROGRAMS}torch", "not a function"),
    ],
)
def test_targets_that_are_none(boundby, target, message):
    done = boundby("bench", target)

    assert done.returncode == 2
    assert message in done.stderr


def test_a_scope_that_is_none(boundby):
    assert boundby("bench", f"{PROGRAMS}quick", "--scope", "galaxy").returncode == 2


def test_without_torch_it_says_what_is_missing(boundby, tmp_path):
    (tmp_path / "empty.py").write_text("def f():\n    pass\n")
    (tmp_path / "main.py").write_text(
        "import sys\n"
        "import importlib.util as u\n"
        "real = u.find_spec\n"
        "u.find_spec = lambda name, *a: None if name == 'torch' else real(name, *a)\n"
        "from boundby.cli import main\n"
        "sys.exit(main(['bench', 'empty.py::f']))\n"
    )
    import subprocess

    done = subprocess.run(
        [sys.executable, "main.py"], cwd=tmp_path, capture_output=True, text=True, check=False
    )

    assert done.returncode == 125
    assert done.stderr.startswith("this needs torch")


def test_what_the_target_prints_is_no_result(boundby):
    done = boundby("bench", f"{PROGRAMS}talks", *QUICK, "--json")

    assert json.loads(done.stdout)["kind"] == "boundby-bench"
    assert done.stderr == "hello\n"


@pytest.mark.parametrize("name", ["generates", "waits"])
def test_what_does_not_run_when_it_is_called_is_refused(boundby, name):
    done = boundby("bench", f"{PROGRAMS}{name}", *QUICK)

    assert (done.returncode, done.stdout) == (2, "")
    assert "a call runs none of it" in done.stderr
    assert "never awaited" not in done.stderr


def test_inputs_that_fail_are_named(boundby):
    done = boundby("bench", f"{PROGRAMS}plain", "--inputs", f"{PROGRAMS}fails", *QUICK)

    assert done.returncode == 125
    assert done.stderr.startswith(f"{PROGRAMS}fails raised ValueError: no such luck (")


def test_a_result_that_cannot_be_kept_is_shown_first(boundby, tmp_path):
    kept = tmp_path / "none" / "result.json"
    done = boundby("bench", f"{PROGRAMS}quick", *QUICK, env={"BOUNDBY_RESULT": str(kept)})

    assert done.returncode == 125
    assert done.stdout.startswith("bench      ")
    assert done.stderr.startswith(f"{kept}: cannot write: No such file or directory\n")


def test_a_folder_that_is_not_there_is_said_before_anything_is_measured(boundby, tmp_path):
    (tmp_path / "target.py").write_text("print('imported')\ndef f(): pass\n")
    done = boundby("bench", "target.py::f", "-o", "none/result.json", cwd=tmp_path)

    assert (done.returncode, done.stdout) == (125, "")
    assert done.stderr.startswith("none/result.json: cannot write: No such file or directory\n")
    assert "imported" not in done.stderr
