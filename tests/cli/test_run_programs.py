"""The ten programs of ``tests/programs`` run observed on the CPU: plumbing, no verdicts.

Verdicts, lines and predictions on a device are checked by ``gpu/verify_run.py``.
"""

import functools
import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAMS = Path(__file__).resolve().parent.parent / "programs"

SOURCES = {
    "launch_bound": "optimizer",
    "python_bound": "optimizer",
    "sync_bound": "optimizer",
    "data_bound": "optimizer",
    "compiled": "optimizer",
    "gan": "optimizer",
    "accumulation": "optimizer",
    "inference": "module",
    "lightning_program": "optimizer",
    "hf_trainer": "optimizer",
}
NEEDS = {"lightning_program": ("lightning", "pytorch_lightning"), "hf_trainer": ("transformers",)}


def planted(name):
    lines = (PROGRAMS / f"{name}.py").read_text("utf-8").splitlines()
    return next(i for i, text in enumerate(lines, 1) if text.endswith("# planted"))


LINES = {"python_bound": "stacks", "data_bound": "stacks"}
"""The pass that sees the planted line, beside those that every program is given."""


def passes_of(name):
    return ["clean", "trace", *filter(None, [LINES.get(name)]), "syncs", "memory"]


@pytest.fixture(scope="module")
def observe(tmp_path_factory, cold):
    """Return a function that runs a program until all passes are done, once; the document."""

    @functools.cache
    def run(name):
        libraries = NEEDS.get(name, ())
        if libraries and not any(importlib.util.find_spec(each) for each in libraries):
            pytest.skip(f"needs {' or '.join(libraries)}")
        done = cold(
            *("run", "--stop", "--json", "--steps", "3", "--passes", ",".join(passes_of(name))),
            *("--folder", tmp_path_factory.mktemp(name)),
            *(PROGRAMS / f"{name}.py", "--seconds", "60"),
            timeout=240,
        )
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return run


@pytest.mark.parametrize("name", SOURCES)
def test_every_pass_is_made(observe, name):
    live = observe(name)["live"]
    asked = passes_of(name)

    assert live["finished"]
    assert live["problems"] == []
    assert live["source"] == SOURCES[name]
    assert [each["name"] for each in live["passes"]] == [
        *("clean", "drained", "trace", "after"),
        *asked[asked.index("trace") + 1 :],
    ]


def test_the_line_that_waits_is_named(observe):
    waits = observe("sync_bound")["live"]["waits"]

    assert waits[0]["kind"] == "item"
    assert waits[0]["place"]["line"] == planted("sync_bound")
    assert waits[0]["place"]["exact"]


def test_the_line_of_python_is_named(observe):
    facts = [fact for fact in observe("python_bound")["evidence"] if fact["id"] == "python-line"]

    assert planted("python_bound") in [fact["where"][0]["line"] for fact in facts[:3]]


def test_the_line_that_loads_is_named(observe):
    facts = [fact for fact in observe("data_bound")["evidence"] if fact["id"] == "batch-line"]

    assert facts[0]["where"][0]["line"] == planted("data_bound")


def test_losses_are_the_same_bit_for_bit(boundby, tmp_path):
    program = str(PROGRAMS / "launch_bound.py")
    observed, alone = tmp_path / "observed", tmp_path / "alone"
    boundby("run", "--steps", "3", program, "--steps", "300", "--losses", observed, cwd=tmp_path)
    command = [sys.executable, program, "--steps", "300", "--losses", str(alone)]
    subprocess.run(command, check=True)

    assert observed.read_text() == alone.read_text()
