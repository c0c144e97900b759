"""The JSON document: what it holds, in which order, and what it must not."""

import json
import math
from dataclasses import replace

import jsonschema
import numpy as np
import pytest

from boundby.evidence.facts import Evidence
from boundby.report.document import encode
from boundby.report.schema import schema
from boundby.timeline.summary import QueueDelay
from diagnoses import ALL, device_bound, launch_bound, sync_bound, undecided

KEYS = [
    "schema_version",
    "tool",
    "source",
    "caliber",
    "quality",
    "steps",
    "calibration",
    "devices",
    "device",
    "waterfall",
    "verdict",
    "decision_path",
    "host",
    "what_if",
    "ladder",
    "prescriptions",
    "ranges",
    "ops",
    "syncs",
    "roofline",
    "memory",
    "next",
    "evidence",
]

validator = jsonschema.Draft202012Validator(schema())


def test_the_schema_is_itself_valid():
    jsonschema.Draft202012Validator.check_schema(schema())


@pytest.mark.parametrize("make", ALL)
def test_every_document_follows_the_schema(make):
    validator.validate(json.loads(encode(make())))


@pytest.mark.parametrize("make", ALL)
def test_keys_come_in_the_documented_order(make):
    assert list(json.loads(encode(make()))) == KEYS


def test_values_are_those_of_the_diagnosis():
    document = json.loads(encode(launch_bound()))

    assert document["schema_version"] == 1
    assert document["source"]["path"] == "small_encoder.json.gz"
    assert document["steps"]["unprofiled_ms"] == {"estimate": 3.84, "low": 3.1, "high": 4.7}
    assert document["verdict"]["class"] == "launch-bound"
    assert document["verdict"]["runner_up"] == {"class": "python-bound", "share": 0.24}
    assert document["ladder"][0] == {
        "class": "launch-bound",
        "fix": "no_submit_cost",
        "step_ms": 0.362,
        "pays": True,
    }
    assert document["devices"] == [{"id": 0, "name": "NVIDIA H200"}]
    assert document["prescriptions"][0]["costs"]["shapes"] == "fixed"


def test_unknown_is_null():
    document = json.loads(encode(undecided()))

    assert document["verdict"]["strength"] is None
    assert document["steps"]["unprofiled_ms"] is None
    assert document["device"]["busy_share_observed"] is None
    assert document["device"]["shares"] is None
    assert document["decision_path"] is None
    assert document["roofline"] is None
    assert document["memory"] is None


def test_not_a_number_is_null_and_numpy_numbers_are_numbers():
    made = launch_bound()
    delay = QueueDelay(math.nan, np.float64(19.5))
    made = replace(
        made, device=replace(made.device, queue_delay_us=delay, events_per_step=np.int64(7))
    )

    document = json.loads(encode(made), parse_constant=pytest.fail)

    assert document["device"]["queue_delay_us"] == {"p50": None, "p99": 19.5}
    assert document["device"]["events_per_step"] == 7


def test_text_keeps_its_value_and_is_written_in_ascii():
    name = "训练 \U0001f525 \u202e \x1b[1m \x7f"
    made = replace(launch_bound(), evidence=(Evidence("launches", 1, "count", name, "measured"),))

    text = encode(made)

    assert text.isascii()
    assert "\x1b" not in text
    assert "\x7f" not in text
    assert json.loads(text)["evidence"][0]["text"] == name


def test_a_lone_surrogate_does_not_break_the_document():
    made = launch_bound()
    made = replace(made, source=replace(made.source, path="bad\udc80.json"))

    assert json.loads(encode(made))["source"]["path"] == "bad?.json"


def test_home_folders_are_masked_except_in_what_the_user_typed():
    made = sync_bound()
    made = replace(made, source=replace(made.source, path="/home/alice/trace.json"))

    document = json.loads(encode(made))

    assert document["source"]["path"] == "/home/alice/trace.json"
    assert document["syncs"][0]["where"][0]["file"] == "~/train.py"
    assert document["evidence"][0]["where"][0]["file"] == "~/train.py"


def test_one_line_holds_the_same_document():
    one_line = encode(device_bound(), on_one_line=True)

    assert one_line.count("\n") == 1
    assert json.loads(one_line) == json.loads(encode(device_bound()))
