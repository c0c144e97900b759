"""The sentences of the facts a verdict rests on: numbers that a reader can take in at once."""

from dataclasses import replace

import pytest

from boundby.evidence.measures import Measured, measure
from boundby.evidence.words import counted, duration, figure, listed, often, per_step
from diagnoses import launch_bound


def told(**changes):
    """Sentences by id of a small program with some values changed."""
    made = launch_bound()
    device = replace(made.device, **changes.pop("device", {}))
    steps = replace(made.steps, **changes)
    facts = Measured(steps, made.calibration, device, made.host, made.waterfall)
    return {fact.id: fact.text for fact in measure(facts)}


def test_each_fact_is_one_short_sentence():
    texts = told()

    assert texts["step-time"] == "a step takes 3.84 ms without the profiler (3.10 to 4.70 ms)"
    assert texts["device-busy"] == "324 us of work keep the device 8% busy (3% as recorded)"
    assert texts["submission-time"] == "operators and launch calls cost 2.59 ms, 67% of the step"
    assert max(map(len, texts.values())) <= 82


@pytest.mark.parametrize(
    ("drained_ms", "rest"),
    [
        (11.72, "11.7 ms a step: the profiler made it 3.1 times as long"),
        (3.9, "3.90 ms a step, about what it takes without the profiler"),
    ],
)
def test_the_observer(drained_ms, rest):
    assert told(drained_ms=drained_ms)["observer"] == f"the recording shows {rest}"


@pytest.mark.parametrize(
    ("launches", "events", "text"),
    [
        (40.0, 40.0, "40 launches a step, one piece of work each"),
        (1.0, 40.0, "1 launch a step put 40 pieces of work on the device"),
        (2.5, None, "2.5 launches a step"),
    ],
)
def test_launches(launches, events, text):
    found = told(device={"launches_per_step": launches, "events_per_step": events})

    assert found["launches"] == text


@pytest.mark.parametrize(
    ("count", "text"), [(24, "24 times a step"), (1, "once a step"), (1 / 3, "once in 3 steps")]
)
def test_waits(count, text):
    found = told(device={"syncs_per_step": count})

    assert found["syncs"] == f"the host waits for the device {text}"


def test_a_long_kernel_is_told_in_milliseconds():
    assert told(device={"median_kernel_us": 21508.0})["kernel-median"].endswith("runs 21.5 ms")


def test_words():
    assert figure(1234.5) == "1234"
    assert figure(0.00001) == "<0.001"
    assert counted(1, "launch", "launches") == "1 launch"
    assert counted(2, "call") == "2 calls"
    assert often(1) == "once"
    assert per_step(0.4) == "once in 2.5 steps"
    assert per_step(0.95) == "0.95 times a step"
    assert duration(0.0123, like=5.0) == "0.012 ms"
    assert listed([1, 2, 3]) == "1, 2 and 3"
