"""Paths that are none, or the wrong ones: one clear line, and nothing lost."""

import os
import shutil
from pathlib import Path

import pytest

REAL = Path(__file__).parent.parent / "real" / "cuda_graph_replay.json.gz"


@pytest.fixture
def trace(tmp_path):
    return shutil.copy(REAL, tmp_path / "trace.json")


def test_a_report_is_never_written_over_its_recording(boundby, trace):
    before = trace.read_bytes()

    done = boundby("trace", trace, "-o", trace, "--force")

    assert done.returncode == 2
    assert "is what the report is made from" in done.stderr
    assert trace.read_bytes() == before


def test_a_name_too_long_to_write_to_is_told(boundby, trace):
    done = boundby("trace", trace, "-o", f"{trace.parent}/{'a' * 300}.md")

    assert done.returncode == 125
    assert "cannot write: File name too long" in done.stderr
    assert "internal error" not in done.stderr


@pytest.mark.parametrize("command", ["trace", "report"])
def test_a_pipe_is_refused_before_it_blocks(boundby, tmp_path, command):
    os.mkfifo(tmp_path / "pipe")

    done = boundby(command, tmp_path / "pipe", timeout=60)

    assert done.returncode == 125
    assert done.stderr.startswith(f"{tmp_path}/pipe is a pipe: ")


def test_an_empty_path_is_no_folder(boundby):
    done = boundby("trace", "")

    assert done.returncode == 125
    assert done.stderr.startswith("the path is empty")


@pytest.mark.parametrize("cache", ["no such folder", "a" * 5000], ids=["absent", "too long"])
def test_a_cache_that_cannot_be_read_holds_nothing(boundby, trace, tmp_path, cache):
    done = boundby("trace", trace, env={"XDG_CACHE_HOME": f"{tmp_path}/{cache}"})

    assert done.returncode == 0
    assert done.stderr == ""


def test_columns_of_zero_are_no_width(stubbed):
    done = stubbed("trace", "launch.json", env={"FORCE_COLOR": "1", "COLUMNS": "0"})

    assert "launch-bound" in done.stdout
