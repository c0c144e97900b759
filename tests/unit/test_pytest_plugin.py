"""The plugin in a pytest of its own: fixtures, gates, annotations."""

import json
import os
import subprocess
import sys

import pytest

from warm import PYTEST, TORCH

BENCH = """
import time
def test_sleep(gpubench):
    assert gpubench(lambda: time.sleep({seconds}) or 7) == 7
    assert gpubench.result.n >= 10
"""
WITHOUT = [f"-pno:{plugin}" for plugin in ("cov", "hypothesispytest", "randomly", "xdist")]
WITHOUT += ["--assert=plain"]
"""Plugins of our own tests, of which one takes seconds to import; and asserts in other words, for
which all of boundby would be compiled in each."""

OPTIONS = "import pytest\n@pytest.mark.gpubench(min_run_time=0.01, warmup=1)"


@pytest.fixture
def inner(tmp_path, starters):
    """Run a test file with the plugin, which pytest finds by its entry point."""

    def run(text, *arguments, cold=sys.platform != "linux", **environment):
        (tmp_path / "test_inner.py").write_text(text)
        variables = {k: v for k, v in os.environ.items() if not k.startswith(("GITHUB", "COV"))}
        words = ["-q", "--rootdir", tmp_path, *arguments, "test_inner.py"]
        asked = {"cwd": tmp_path, "env": variables | environment}
        if not cold:
            return starters(*TORCH).run([*WITHOUT, *map(str, words)], main=PYTEST, **asked)
        command = [sys.executable, "-m", "pytest", "-p", "no:randomly", *map(str, words)]
        return subprocess.run(command, capture_output=True, text=True, check=False, **asked)

    return run


def bench(seconds):
    return BENCH.format(seconds=seconds).replace("\ndef", f"\n{OPTIONS}\ndef")


@pytest.mark.alone
def test_results_are_printed_saved_and_held_against_the_saved_ones(inner, tmp_path):
    saved = tmp_path / "saved.json"
    first = inner(bench(0.002), "--boundby-save", saved, cold=True)
    same = inner(bench(0.002), "--boundby-compare", saved, "--boundby-fail=median:300%")
    slow = inner(
        bench(0.02), "--boundby-compare", saved, "--boundby-fail=median:300%",
        GITHUB_ACTIONS="true", GITHUB_STEP_SUMMARY=str(tmp_path / "summary.md"),
    )  # fmt: skip

    assert first.returncode == 0, first.stdout
    assert "test_inner.py::test_sleep" in first.stdout
    assert json.loads(saved.read_text())["kind"] == "boundby-pytest"
    assert same.returncode == 0, same.stdout
    assert slow.returncode == 1
    assert "slower: median beyond 300%" in slow.stdout
    assert "::warning file=test_inner.py,title=test_sleep is slower::" in slow.stdout
    assert "| `test_inner.py::test_sleep` |" in (tmp_path / "summary.md").read_text()


@pytest.mark.parametrize(
    "gate",
    ["median", "median:5", "colour:5%", "median:-5%", "median:x%", "mean:nan%", "p95:inf%"],
)
def test_a_gate_that_cannot_be_read(inner, gate):
    done = inner("", f"--boundby-fail={gate}")

    assert done.returncode == 4
    assert "cannot read" in done.stderr


def test_saved_results_that_are_none(inner, tmp_path):
    (tmp_path / "a.json").write_text("{}")

    for path in (tmp_path / "a.json", tmp_path / "missing.json"):
        assert inner("", "--boundby-compare", path).returncode == 4


SYNC = """
import pytest, torch
@pytest.mark.no_sync
def test_waits():
    x = torch.ones(3)
    if x.sum() > 2:
        pass
def test_fine(no_sync):
    torch.ones(3).sum()
"""


def test_a_hidden_wait_fails_a_test_with_its_line(inner):
    done = inner(SYNC)

    assert done.returncode == 1
    assert "test_inner.py:6 in test_waits: aten._local_scalar_dense reads a value" in done.stdout
    assert "1 failed, 1 passed" in done.stdout


def test_a_second_function_is_refused(inner):
    done = inner(f"{OPTIONS}\ndef test_two(gpubench):\n    gpubench(int)\n    gpubench(int)\n")

    assert "measures one function a test" in done.stdout


FIXTURE = """
import pytest, torch
@pytest.fixture
def limit():
    return torch.ones(3).sum().item()
def test_waits_in_a_fixture_alone(limit, no_sync):
    torch.ones(3).sum()
@pytest.mark.xfail(strict=True)
@pytest.mark.no_sync
def test_known():
    torch.ones(1).item()
@pytest.mark.no_sync
@pytest.mark.gpubench(min_run_time=0.01, warmup=1)
def test_benchmark(gpubench):
    gpubench(torch.ones, 3)
"""


def test_rounds_and_iterations_are_those_of_pytest_benchmark(inner, tmp_path):
    done = inner(
        "def test_sum(gpubench):\n"
        "    given = gpubench.pedantic(sum, ([1, 2],), rounds=7, iterations=3, warmup_rounds=1)\n"
        "    assert given == 3\n"
        "    assert len(gpubench.result.wall.ns) == 7\n"
        "    assert gpubench.result.wall.number == 3\n"
    )
    assert "1 passed" in done.stdout, done.stdout

    done = inner("def test_sum(gpubench):\n    gpubench.pedantic(sum, ([1],), setup=int)\n")
    assert "gpubench.pedantic takes no setup: prepare what args hold" in done.stdout


def test_only_the_body_of_a_test_is_watched(inner):
    done = inner(FIXTURE)

    assert "2 passed, 1 xfailed" in done.stdout, done.stdout


def test_a_gate_needs_something_to_hold_against(inner):
    done = inner("", "--boundby-fail=median:5%")

    assert done.returncode == 4
    assert "--boundby-fail needs saved results: --boundby-compare FILE" in done.stderr


def test_where_results_cannot_go_is_said_before_any_test_runs(inner, tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    for path, words in ((tmp_path / "none" / "a.json", "no folder"),
                        (tmp_path / "notes.txt", "holds no saved results")):  # fmt: skip
        done = inner(bench(0.002), "--boundby-save", path)

        assert done.returncode == 4
        assert words in done.stderr
        assert "passed" not in done.stdout
    assert (tmp_path / "notes.txt").read_text() == "mine"


def test_what_is_compared_with_is_not_written_over(inner, tmp_path):
    saved = tmp_path / "saved.json"
    inner(bench(0.002), "--boundby-save", saved)
    again = inner(bench(0.002), "--boundby-save", saved)
    both = inner(bench(0.002), "--boundby-save", saved, "--boundby-compare", saved)

    assert again.returncode == 0, again.stdout
    assert (both.returncode, "is what is compared with" in both.stderr) == (4, True)


def test_a_folder_that_goes_away_costs_no_figures(inner, tmp_path):
    gone = tmp_path / "gone"
    gone.mkdir()
    text = bench(0.002) + "    import shutil\n    shutil.rmtree('gone')\n"
    done = inner(text, "--boundby-save", gone / "a.json",
                 GITHUB_STEP_SUMMARY=str(tmp_path / "none" / "summary.md"))  # fmt: skip

    assert done.returncode == 0, done.stdout
    assert "test_inner.py::test_sleep  2." in done.stdout
    assert f"{gone / 'a.json'}: cannot write: No such file" in done.stdout
    assert "summary.md: cannot write: No such file" in done.stdout


def test_what_a_gate_could_not_be_held_against_is_told(inner, tmp_path):
    saved = tmp_path / "saved.json"
    inner(bench(0.002), "--boundby-save", saved)
    document = json.loads(saved.read_text())
    (result,) = document["results"].values()
    result["caliber"]["torch"] = "0.1"
    saved.write_text(json.dumps(document))
    other = bench(0.002) + "\n" + bench(0.002).replace("test_sleep", "test_new")
    done = inner(other, "--boundby-compare", saved, "--boundby-fail=median:5%",
                 GITHUB_ACTIONS="true")  # fmt: skip

    assert done.returncode == 0
    assert "different caliber: torch is 0.1 in the old" in done.stdout
    assert "not among the saved results" in done.stdout
    assert "gate median:5%: 0 of 2 tests could be held" in done.stdout
    assert done.stdout.count(" was not compared::") == 2


@pytest.mark.parametrize("damage", ["missing", "list", "samples"])
def test_damaged_saved_results_are_one_line(inner, tmp_path, damage):
    saved = tmp_path / "saved.json"
    inner(bench(0.002), "--boundby-save", saved)
    document = json.loads(saved.read_text())
    if damage == "missing":
        del document["results"]
    elif damage == "list":
        document["results"] = []
    else:
        next(iter(document["results"].values()))["wall"]["ns"] = []
    saved.write_text(json.dumps(document))
    done = inner("", "--boundby-compare", saved)

    assert done.returncode == 4
    assert "INTERNALERROR" not in done.stdout + done.stderr
    assert f"--boundby-compare: {saved}" in done.stderr


def test_the_caliber_is_that_of_the_function(inner, tmp_path):
    saved = tmp_path / "saved.json"
    inner(
        f"{OPTIONS}\ndef test_sum(gpubench):\n    import torch\n"
        "    gpubench(torch.sum, torch.ones(3, 4))\n",
        "--boundby-save", saved,
    )  # fmt: skip
    (result,) = json.loads(saved.read_text())["results"].values()

    assert (result["caliber"]["shapes"], result["caliber"]["dtype"]) == (["3x4"], "float32")
    assert result["labels"]["stmt"] == "sum"


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ("quantiles=[0.5]", "gpubench takes no 'quantiles'"),
        ("bogus=1", "gpubench takes no 'bogus'"),
        ("min_run_time=-1", "times must be positive"),
    ],
)
def test_options_of_the_marker_that_are_none(inner, options, words):
    done = inner(
        f"import pytest\n@pytest.mark.gpubench({options})\n"
        "def test_a(gpubench):\n    gpubench(int)\n"
    )

    assert done.returncode == 1
    assert words in done.stdout
    assert "Traceback" not in done.stdout


PARALLEL = "def pytest_addoption(parser):\n    parser.addoption('--numprocesses', type=int)\n"


def test_tests_that_run_at_once_are_no_benchmark(inner, tmp_path):
    (tmp_path / "conftest.py").write_text(PARALLEL)
    done = inner(bench(0.002), "--numprocesses=2", "--boundby-save", tmp_path / "a.json")
    alone = inner(bench(0.002), "--numprocesses=0", "--boundby-save", tmp_path / "a.json")

    assert (done.returncode, "disturb each other" in done.stderr) == (4, True)
    assert alone.returncode == 0


NAMES = """
import pytest, time
@pytest.mark.gpubench(min_run_time=0.01, warmup=1)
@pytest.mark.parametrize("x", ["a|b", "c,d:e"])
def test_p(gpubench, x):
    gpubench(time.sleep, {seconds})
"""


def test_names_with_marks_of_markdown_and_of_github(inner, tmp_path):
    saved, summary = tmp_path / "saved.json", tmp_path / "summary.md"
    inner(NAMES.format(seconds=0.001), "--boundby-save", saved)
    done = inner(
        NAMES.format(seconds=0.01), "--boundby-compare", saved,
        GITHUB_ACTIONS="true", GITHUB_STEP_SUMMARY=str(summary),
    )  # fmt: skip
    rows = [line for line in summary.read_text().splitlines() if "test_p" in line]

    assert "title=test_p[c%2Cd%3Ae] is slower::slower +" in done.stdout
    assert "%25 (+" in done.stdout
    assert [row.replace("\\|", "").count("|") for row in rows] == [6, 6]
