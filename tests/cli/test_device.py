"""``boundby device`` as a process: without a device, and with one that tests bring."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

STUB = Path(__file__).with_name("with_device.py")


@pytest.fixture
def device(tmp_path):
    """Run ``boundby device ARGUMENTS`` where a device is measured at once."""
    environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path / "cache")}
    return lambda *arguments: subprocess.run(
        [sys.executable, str(STUB), "device", *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
        env=environment,
    )


def test_without_a_device_one_line_and_125(boundby):
    done = boundby("device", env={"CUDA_VISIBLE_DEVICES": ""})

    assert done.returncode == 125
    assert done.stdout == ""
    assert done.stderr == "no CUDA device: torch sees none here, so nothing was measured\n"


def test_it_prints_the_table_and_keeps_the_ceilings(device, tmp_path):
    done = device()

    assert done.returncode == 0
    assert done.stdout.startswith("NVIDIA H200, torch 2.11.0, CUDA 13.0\n")
    assert done.stderr.splitlines()[-1].startswith("kept for later reports: ")
    [kept] = (tmp_path / "cache" / "boundby" / "ceilings").iterdir()
    assert json.loads(kept.read_text())["memory_gbs"] == 4220


def test_json_alone_is_on_stdout(device):
    assert json.loads(device("--json", "--quiet").stdout)["attainable"]["memory_gbs"] == 4220


def test_a_file_gets_the_form_of_its_ending(device, tmp_path):
    device("-o", tmp_path / "device.md")

    assert (tmp_path / "device.md").read_text().startswith("# NVIDIA H200")


def test_nothing_is_kept_where_that_is_not_wanted(device, tmp_path):
    done = device("--no-store")

    assert done.returncode == 0
    assert not (tmp_path / "cache").exists()


def test_a_folder_that_cannot_be_written_is_said_and_no_failure(device, tmp_path):
    (tmp_path / "cache").write_text("a file where the folder should be")
    done = device()

    assert done.returncode == 0
    assert "not kept for later reports: " in done.stderr


def test_later_reports_show_what_was_kept(boundby, device, tmp_path):
    device()
    cache = {"XDG_CACHE_HOME": str(tmp_path / "cache")}
    known = boundby("demo", "fp32-matmul", "--roofline", env=cache)
    other = boundby("demo", "fp32-matmul", "--roofline", env={"XDG_CACHE_HOME": str(tmp_path)})

    assert "\nattainable  " in known.stdout
    assert "\nattainable  " not in other.stdout
    assert sys.executable not in known.stdout
