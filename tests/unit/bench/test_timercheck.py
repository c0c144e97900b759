"""Timing code under watch, on a machine whose times are known."""

import time

import pytest

import boundby
from boundby.bench.result import Work
from boundby.bench.timercheck import _judge, _Seen, check_timer
from boundby.errors import UsageError
from fakes_of_bench import FakeMachine


@pytest.fixture
def machine(monkeypatch):
    fake = FakeMachine()
    monkeypatch.setattr(time, "perf_counter", lambda: fake.time / 1e9)
    return fake


def ids(found):
    return [each.id for each in found.missed]


def timer(machine, times, *, waits=True, statistic=lambda laps: sum(laps) / len(laps)):
    def measure():
        laps = []
        for device in times():
            begin = time.perf_counter()
            machine.work(5_000, device)
            if waits:
                machine.synchronize()
            laps.append(time.perf_counter() - begin)
        return statistic(laps)

    return measure


def test_a_good_timer_misses_nothing(machine):
    found = check_timer(timer(machine, lambda: [1e6] * 5), machine=machine)

    assert found
    assert ids(found) == []
    assert found.reported == pytest.approx((1.005e-3,) * 5)
    assert "nothing missed" in str(found)


def test_a_clock_that_does_not_wait(machine):
    found = check_timer(timer(machine, lambda: [1e6] * 5, waits=False), machine=machine)

    assert not found
    assert ids(found) == ["unsynchronised-timer"]
    assert found.reported == pytest.approx((5e-6,) * 5)
    assert found.pending_ns > 1e6


def test_a_first_call_that_is_counted(machine):
    runs = iter([[5e7, 1e6, 1e6, 1e6], *[[1e6] * 4] * 4])
    found = check_timer(timer(machine, lambda: next(runs)), machine=machine)

    assert ids(found) == ["warm-up-inside"]


def test_a_mean_of_skewed_times(machine):
    times = [1e6] * 19 + [2e7]
    mean = check_timer(timer(machine, lambda: times), machine=machine)
    median = check_timer(
        timer(machine, lambda: times, statistic=lambda laps: sorted(laps)[10]), machine=machine
    )

    assert ids(mean) == ["mean-of-skewed"]
    assert ids(median) == []


def test_a_time_below_the_roofline():
    work = Work(launches=1, flops=1e12, floor_ns=1.6e7, roofs="NVIDIA H200")
    (found,) = _judge([_Seen(1e-5, 0.0, ())] * 3, work)

    assert (found.id, found.severity) == ("above-roofline", "fatal")
    assert list(_judge([_Seen(1.7e-2, 0.0, ())] * 3, work)) == []


def test_clocks_are_given_back():
    before = time.perf_counter
    check_timer(lambda: 1.0, machine=FakeMachine(), runs=1)

    assert time.perf_counter is before
    assert boundby.check_timer is check_timer


@pytest.mark.parametrize("reported", [0.0, -1.0, float("nan"), float("inf")])
def test_what_is_no_time(reported):
    found = check_timer(lambda: reported, machine=FakeMachine())

    assert ids(found) == ["no-time"]
    assert not found


def test_milliseconds_in_place_of_seconds(machine):
    seconds = timer(machine, lambda: [1e6] * 5)
    found = check_timer(lambda: seconds() * 1e3, machine=machine)

    assert ids(found) == ["longer-than-its-run"]
    assert "give seconds a call" in str(found)


def test_all_of_one_call_is_no_longer_than_its_run(machine):
    assert ids(check_timer(timer(machine, lambda: [1e6]), machine=machine)) == []


@pytest.mark.parametrize(
    ("timer", "options", "words"),
    [
        (lambda: None, {}, "gave NoneType"),
        (lambda: [1, 2], {}, "gave list"),
        (3, {}, "not a function"),
        (lambda: 1e-9, {"runs": 0}, "at least once"),
        (lambda: 1e-9, {"fn": 3}, "fn: not a function"),
    ],
)
def test_what_is_no_timer(timer, options, words):
    with pytest.raises(UsageError, match=words):
        check_timer(timer, machine=FakeMachine(), **options)
