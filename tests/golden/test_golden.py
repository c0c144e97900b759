"""Whole programs with what must be said of them; ``--update-golden`` rewrites what is expected.

Each case is a folder: ``world.py`` runs the program, ``expected.json`` holds a few key values, and
``why.md`` says why they are right. Read it before accepting a new value.
"""

import importlib.util
import json
from pathlib import Path

import pytest

from worlds import diagnosis_of

CASES = sorted(path.parent for path in Path(__file__).parent.glob("*/why.md"))


def trace_of(case):
    spec = importlib.util.spec_from_file_location(f"golden_{case.name}", case / "world.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.trace()


def key_values(diagnosis):
    """What a reader would check first; shares in percent, times in microseconds."""
    device, verdict = diagnosis.device, diagnosis.verdict
    return {
        "verdict": [verdict.name, verdict.cause, verdict.strength],
        "steps": [diagnosis.steps.source, diagnosis.steps.count],
        "drained_us": round(diagnosis.steps.drained_ms * 1000),
        "device_us": round(device.ms_per_step * 1000),
        "busy_percent": round(device.busy_share_observed * 100),
        "launches_per_step": device.launches_per_step,
        "waterfall_percent": {
            p.part: round(p.share * 100) for p in diagnosis.waterfall if p.share >= 0.01
        },
        "ladder": [[rung.name, rung.fix, rung.pays] for rung in diagnosis.ladder],
    }


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_golden(case, request):
    found = key_values(diagnosis_of(trace_of(case)))
    expected = case / "expected.json"
    if request.config.getoption("--update-golden"):
        expected.write_text(json.dumps(found, indent=2) + "\n", "utf-8")

    assert found == json.loads(expected.read_text("utf-8"))


def test_there_are_cases():
    assert len(CASES) >= 4
