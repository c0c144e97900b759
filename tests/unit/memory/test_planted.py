"""Causes planted on an H200: the verdict, and the very line; the peaks of the case study."""

import json
from pathlib import Path

import pytest

from boundby.memory.diagnose import diagnose
from boundby.memory.message import diagnose_text
from boundby.read.memory_snapshot import read_snapshot
from boundby.read.oom_message import read_oom_messages

PLANTED = Path(__file__).resolve().parents[2] / "real" / "memory" / "planted"
TRUTH = json.loads((PLANTED / "truth.json").read_text())


@pytest.mark.parametrize("name", TRUTH["planted"])
def test_a_planted_cause_gets_its_verdict_and_its_line(name):
    found, truth = diagnose(read_snapshot(PLANTED / f"{name}.pickle.gz")), TRUTH["planted"][name]
    held = [holder.origin.place for holder in found.case.peak.holders if holder.origin.place]
    advised = found.prescriptions[0].where
    lines = [place.line for place in (*advised, *held) if place.function == name]

    assert (found.verdict.name, found.verdict.cause) == (truth["class"], truth["cause"])
    assert lines[0] == truth["line"]


@pytest.mark.parametrize("name", TRUTH["texts"])
def test_the_text_of_a_failure_agrees_with_its_snapshot(name):
    (message,) = read_oom_messages(TRUTH["texts"][name])

    assert diagnose_text([message]).verdict.name == TRUTH["planted"][name]["class"]


def test_the_price_of_recomputing_is_as_measured():
    """A third of the step for all blocks, half of that for every other one (eager, busy device)."""
    cases = {name: case["ms"] for name, case in TRUTH["cases"].items()}
    base = cases["bf16 b64"]

    assert cases["bf16 checkpoint all b64"] / base - 1 == pytest.approx(1 / 3, abs=0.05)
    assert cases["bf16 checkpoint 2 b64"] / base - 1 == pytest.approx(1 / 6, abs=0.05)
