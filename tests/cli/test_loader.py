"""``boundby loader``: measured on any machine, against a step time or a recording."""

import json
from pathlib import Path

import pytest

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
