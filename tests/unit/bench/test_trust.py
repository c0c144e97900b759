"""What speaks against a measurement, and what does not."""

from dataclasses import replace

import pytest

from boundby.bench.devices import DeviceReading
from boundby.bench.result import Clock, Work
from boundby.bench.trust import Observed, examine
from boundby.bench.warmup import WarmUp

STEADY = WarmUp(10, 1e6, True, ())
READING = DeviceReading("580", 1980, 3201, 0, 40, 0, 0)
GOOD = Observed({"wall": Clock((1e6,) * 20)}, STEADY, Work(launches=1), READING, READING)


def ids(seen):
    return [each.id for each in examine(seen)]


def wall(*ns):
    return {"wall": Clock(tuple(map(float, ns)))}


def test_nothing_speaks_against_a_good_measurement():
    assert examine(GOOD) == ()


@pytest.mark.parametrize(
    ("change", "found"),
    [
        ({"clocks": wall(*[1e6] * 9)}, "few-samples"),
        ({"clocks": wall(*[1e6, 2e6] * 10)}, "wide-spread"),
        ({"clocks": wall(*[1e6] * 16, *[1.2e6] * 4)}, "drift"),
        ({"warm_up": replace(STEADY, is_steady=False)}, "not-steady"),
        ({"after": replace(READING, sm_mhz=1500)}, "clocks-fell"),
        ({"after": replace(READING, throttle=0x40)}, "clocks-fell"),
        ({"after": replace(READING, others=1)}, "shared-device"),
        ({"is_unused": True}, "unused-output"),
        ({"work": Work(launches=0)}, "unused-output"),
        ({"work": Work(launches=1, floor_ns=1.2e6, roofs="H200")}, "above-roofline"),
    ],
)
def test_each_doubt_has_its_sign(change, found):
    assert ids(replace(GOOD, **change)) == [found]


@pytest.mark.parametrize(
    "change",
    [
        {"clocks": wall(*[1e6] * 10)},
        {"clocks": {**GOOD.clocks, "submit": Clock((1.0, 9e9))}},  # submission may vary
        {"work": Work(launches=1, floor_ns=1.04e6, roofs="H200")},  # within rounding and clocks
        {"work": Work()},
        {"before": None},
        {"after": replace(READING, sm_mhz=1950)},
    ],
)
def test_what_is_no_doubt(change):
    assert examine(replace(GOOD, **change)) == ()


def test_an_impossible_time_is_fatal_and_comes_first():
    seen = replace(
        GOOD,
        clocks=wall(*[1e6, 2e6] * 10),
        work=Work(launches=1, floor_ns=9e6, roofs="NVIDIA H200"),
    )
    first, *others = examine(seen)

    assert (first.id, first.severity) == ("above-roofline", "fatal")
    assert "1.5 ms" in first.message
    assert "9 ms on NVIDIA H200" in first.message
    assert [each.id for each in others] == ["wide-spread"]


@pytest.mark.parametrize(
    ("calls", "words"),
    [
        (1, "the warm-up had time for 1 call:"),
        (4, "the warm-up had time for 4 calls:"),
        (9, "calls were still getting faster after 9 of them"),
    ],
)
def test_a_warm_up_without_time_says_nothing_of_speed(calls, words):
    (found,) = examine(replace(GOOD, warm_up=WarmUp(calls, 1e10, False, ())))

    assert (found.id, words in found.message) == ("not-steady", True)


def test_one_sample_is_no_plural():
    (found,) = examine(replace(GOOD, clocks=wall(1e6)))

    assert found.message == "wall: 1 sample"
