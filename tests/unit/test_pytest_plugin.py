"""The plugin in a pytest of its own: fixtures, gates, annotations."""

import json
import os
import subprocess
import sys

import pytest

BENCH = """
import time
def test_sleep(gpubench):
    assert gpubench(lambda: time.sleep({seconds}) or 7) == 7
    assert gpubench.result.n >= 10
"""
WITHOUT = [f"-pno:{plugin}" for plugin in ("cov", "hypothesispytest", "randomly", "xdist")]
"""Plugins of our own tests, of which one takes seconds to import."""

OPTIONS = "import pytest\n@pytest.mark.gpubench(min_run_time=0.01, warmup=1)"


@pytest.fixture
def inner(tmp_path):
    """Run a test file with the plugin, which pytest finds by its entry point."""

    def run(text, *arguments, **environment):
        (tmp_path / "test_inner.py").write_text(text)
        variables = {k: v for k, v in os.environ.items() if not k.startswith(("GITHUB", "COV"))}
        return subprocess.run(
            [sys.executable, "-m", "pytest", "-q", *WITHOUT, "--rootdir", str(tmp_path),
             *map(str, arguments), "test_inner.py"],
            cwd=tmp_path, env=variables | environment, capture_output=True, text=True, check=False,
        )  # fmt: skip

    return run


def bench(seconds):
    return BENCH.format(seconds=seconds).replace("\ndef", f"\n{OPTIONS}\ndef")


@pytest.mark.alone
def test_results_are_printed_saved_and_held_against_the_saved_ones(inner, tmp_path):
    saved = tmp_path / "saved.json"
    first = inner(bench(0.002), "--boundby-save", saved)
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
    assert "| test_inner.py::test_sleep |" in (tmp_path / "summary.md").read_text()


@pytest.mark.parametrize("gate", ["median", "median:5", "colour:5%", "median:-5%", "median:x%"])
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
    assert "2 passed, 1 error" in done.stdout


def test_a_second_function_is_refused(inner):
    done = inner(f"{OPTIONS}\ndef test_two(gpubench):\n    gpubench(int)\n    gpubench(int)\n")

    assert "measures one function a test" in done.stdout
