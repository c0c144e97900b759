"""``boundby loader``: measured on any machine, against a step time or a recording."""

import json
import re
from pathlib import Path
from types import SimpleNamespace

import pytest

from boundby.cli.loader import without_dead_workers
from recordings import REAL

PROGRAMS = f"{Path(__file__).with_name('programs_under_test.py')}::"
QUICK = ("--budget", "2", "--no-sweep")


@pytest.mark.parametrize(("step", "word"), [("500", "enough"), ("0.5", "the bottleneck")])
def test_a_loader_against_a_step(boundby, step, word):
    done = boundby("loader", f"{PROGRAMS}make_loader", "--step-ms", step, *QUICK)

    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(f"loader     {word}: a batch takes ")


def test_a_loader_against_a_recording(boundby):
    recording = REAL / "pair_pageable_h2d.json.gz"
    done = boundby("loader", f"{PROGRAMS}make_loader", "--recording", recording, *QUICK, "--json")
    document = json.loads(done.stdout)

    assert document["step_ms"] > 0
    assert document["answer"] in ("enough", "bottleneck", "near")


def test_other_settings_are_tried_in_bounded_time(boundby, tmp_path):
    boundby("loader", f"{PROGRAMS}make_loader", "--budget", "2", "-o", tmp_path / "a.md")
    text = (tmp_path / "a.md").read_text("utf-8")

    assert "`num_workers=0`" in text
    assert "`num_workers=1, prefetch_factor=2, persistent_workers=True`" in text
    assert "Best: `" in text


def test_a_target_that_is_none(boundby):
    assert boundby("loader", "nonsense").returncode == 2


LOADERS = """\
import os
from torch.utils.data import DataLoader, Dataset

class Samples(Dataset):
    def __init__(self, count):
        self.count = count
    def __len__(self):
        return self.count
    def __getitem__(self, index):
        os._exit(9)

class Dying(Exception):
    def __str__(self):  # as where a second worker dies while the first is told of
        raise RuntimeError("DataLoader worker (pid 7) exited unexpectedly")

def empty():
    return DataLoader(Samples(0), batch_size=2)

def dying():
    return DataLoader(Samples(8), batch_size=2, num_workers=1)

def dying_twice():
    raise Dying
"""


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("empty", "the loader gave no batch"),
        ("dying", "exited unexpectedly"),
        ("dying_twice", "exited unexpectedly"),
    ],
)
def test_a_loader_without_batches_is_one_line(boundby, tmp_path, name, words):
    (tmp_path / "loaders.py").write_text(LOADERS)
    done = boundby("loader", f"loaders.py::{name}", *QUICK, cwd=tmp_path)

    assert (done.returncode, done.stdout) == (125, "")
    assert re.fullmatch(rf"(?!internal error).*{words}.*\n\nhint: .*\n", done.stderr), done.stderr


def test_a_worker_that_dies_while_nobody_can_catch_it_is_told_once():
    """torch's handler may run in a ``__del__``: Python then prints what it cannot raise."""
    told = []
    hook = without_dead_workers(told.append)
    for text in ("DataLoader worker (pid(s) 7) exited unexpectedly", "of another kind"):
        hook(SimpleNamespace(exc_value=RuntimeError(text)))

    assert [str(each.exc_value) for each in told] == ["of another kind"]


FAILING = """\
import torch
from torch.utils.data import DataLoader, Dataset, get_worker_info

class InWorkers(Dataset):
    def __init__(self, in_workers):
        self.in_workers = in_workers
    def __len__(self):
        return 40
    def __getitem__(self, index):
        if (get_worker_info() is not None) == self.in_workers:
            raise ValueError("broken sample")
        return torch.ones(3)

def nothing():
    return None

def raises_in_workers():
    return DataLoader(InWorkers(True), batch_size=4, num_workers=1)

def fine_without_workers():
    return DataLoader(InWorkers(True), batch_size=4)
"""


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("nothing", "no loader was made but NoneType"),
        ("raises_in_workers", "loaders.py::raises_in_workers raised ValueError: broken sample ("),
    ],
)
def test_what_fails_is_told_as_it_was_said(boundby, tmp_path, name, words):
    (tmp_path / "loaders.py").write_text(FAILING)
    done = boundby("loader", f"loaders.py::{name}", *QUICK, cwd=tmp_path)

    assert (done.returncode, done.stdout) == (125, "")
    assert done.stderr.startswith(words)


def test_settings_that_fail_leave_the_figures_of_the_loader(boundby, tmp_path):
    (tmp_path / "loaders.py").write_text(FAILING)
    done = boundby("loader", "loaders.py::fine_without_workers", "--budget", "5", cwd=tmp_path)

    assert done.returncode == 0, done.stderr
    assert "was not measured: ValueError: broken sample" in " ".join(done.stdout.split())
    assert done.stderr == ""


def test_two_step_times_are_one_too_many(boundby):
    done = boundby("loader", f"{PROGRAMS}make_loader", "--step-ms", "1", "--recording", "a.json")

    assert done.returncode == 2
    assert "--step-ms and --recording both give the step" in done.stderr
