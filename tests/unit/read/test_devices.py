"""Several devices in one recording: the others are told, and weigh where one thread feeds them."""

import pytest

from boundby.diagnose import Options, diagnose
from boundby.errors import UsageError
from boundby.read.recording import Recording
from boundby.report.page.diagnosis import page_of
from boundby.report.page.render import render
from builders import Trace, training_steps
from worlds import diagnosis_of, read


def told(recording: Recording):
    return next((each for each in recording.quality if each.id == "other-devices"), None)


def moved(trace: Trace, every: int) -> Trace:
    """The same, every n-th piece of device work on device 1."""
    rows = [event for event in trace.events if event["cat"] == "kernel"]
    for row in rows[every - 1 :: every]:
        row["pid"] = row["args"]["device"] = 1
    return trace


def test_one_device_says_nothing():
    assert told(read(training_steps())) is None


def test_devices_fed_by_one_thread_weaken():
    trace = moved(training_steps(), 2)
    found = told(read(trace))

    assert found is not None
    assert found.severity == "warning"
    assert found.count == 1
    assert found.message.startswith("2 devices did work; device 0, the busiest, is reported: ")
    assert diagnosis_of(trace).verdict.strength in ("weak", None)


def test_another_device_can_be_asked_for():
    recording = read(moved(training_steps(), 10))
    busiest, asked = diagnose(recording), diagnose(recording, Options(device=1, lanes="typical"))
    (found,) = (each for each in asked.quality if each.id == "other-devices")

    assert "device 1, as asked, is reported: its share is 1" in found.message
    assert "--device takes one of 0, 1." in found.message
    assert found.severity == "warning"
    assert asked.device.events_per_step < busiest.device.events_per_step
    assert len(asked.lanes.work) == asked.device.events_per_step
    assert found.message in render(page_of(asked))


def test_a_device_without_work_is_refused():
    with pytest.raises(UsageError, match="device 3 did no work") as raised:
        diagnose(read(moved(training_steps(), 10)), Options(device=3))
    assert raised.value.hint == "devices that did: 0, 1"


def test_a_little_work_elsewhere_is_a_note():
    found = told(read(moved(training_steps(), 10)))

    assert found is not None
    assert found.severity == "info"


def test_a_device_fed_by_another_thread_is_a_note():
    trace = moved(training_steps(), 2)
    other = {e["args"]["correlation"] for e in trace.events if e["args"].get("device") == 1}
    for event in trace.events:
        if event["cat"] == "cuda_runtime" and event["args"].get("correlation") in other:
            event["tid"] = 77
    found = told(read(trace))

    assert found is not None
    assert found.severity == "info"
