"""The example workloads, made small: what tune finds in them."""

import time
from pathlib import Path

import pytest

from boundby.experiment.session import WorkloadSession
from boundby.experiment.wire import Request

EXAMPLES = Path(__file__).resolve().parents[3] / "examples"
SMALL = {"BLOCKS": 2, "LAYERS": 2, "WIDTH": 32, "SEQUENCE": 8, "SIDE": 32, "BATCH": 2}


@pytest.mark.parametrize(
    ("example", "optimizer", "offers"),
    [
        ("transformer_block", "AdamW", ("attention",)),
        ("small_inference", "", ()),
        ("convnet", "SGD", ()),
        ("slow_host", "AdamW", ("loader", "log", "norms")),
    ],
)
def test_an_example_runs_and_is_what_it_says(monkeypatch, tmp_path, example, optimizer, offers):
    for name, value in SMALL.items():
        monkeypatch.setenv(name, str(value))
    target = f"{EXAMPLES / example / 'workload.py'}:Workload"
    asked = WorkloadSession(Request(target, str(tmp_path)), time.time())
    facts = asked.facts()

    assert (facts["trains"], facts["optimizer"], facts["offers"]) == (
        bool(optimizer),
        optimizer,
        offers,
    )
    assert facts["flops"] > 0
    assert asked.warm(1)["step_ns"] > 0
