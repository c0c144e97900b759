"""Three clocks on a machine whose times are known."""

import pytest

from boundby.bench.sampling import (
    FEWEST_SAMPLES,
    Plan,
    block_size,
    sample_device,
    sample_submit,
    sample_wall,
)
from boundby.bench.warmup import warm_up
from fakes_of_bench import FakeMachine

SHORT = Plan(min_run_ns=1e6)


@pytest.mark.parametrize(("submit", "device"), [(5_000, 50_000), (50_000, 5_000)])
def test_wall_time_is_the_longer_line(submit, device):
    machine = FakeMachine()
    found = sample_wall(machine.call(submit, device), machine, SHORT)

    ends = min(submit, device) / found.number
    assert found.ns[0] == pytest.approx(max(submit, device) + ends, rel=0.01)
    assert len(found.ns) >= FEWEST_SAMPLES


def test_submit_time_does_not_wait_for_the_device():
    machine = FakeMachine()

    assert set(sample_submit(machine.call(5_000, 1e6), machine, SHORT).ns) == {5_000.0}


@pytest.mark.parametrize(("submit", "device"), [(5_000, 50_000), (50_000, 5_000)])
def test_device_time_is_free_of_submission(submit, device):
    machine = FakeMachine()
    found = sample_device(machine.call(submit, device), machine, SHORT, submit)

    assert set(found.ns) == {float(device)}


def test_without_a_hold_a_slow_host_would_be_seen_on_the_device():
    machine = FakeMachine()
    machine.hold = lambda _: None
    found = sample_device(machine.call(50_000, 5_000), machine, SHORT, 50_000)

    assert max(found.ns) == 55_000.0


def test_a_machine_without_a_device_has_no_device_clock():
    machine = FakeMachine(has_device=False)

    assert sample_device(machine.call(), machine, SHORT, 1.0).ns == ()


def test_a_cold_cache_is_emptied_before_every_call_outside_the_clock():
    machine = FakeMachine()
    found = sample_wall(machine.call(5_000, 50_000), machine, Plan(cold=True, samples=7))

    assert found.ns == (55_000.0,) * 7
    assert machine.flushes == 7


def test_what_runs_before_a_call_is_not_timed():
    machine = FakeMachine()
    plan = Plan(samples=3, before=lambda: machine.work(1e6, 1e6))

    assert sample_wall(machine.call(5_000, 50_000), machine, plan).ns == (55_000.0,) * 3


def test_calls_in_a_sample_can_be_given():
    machine = FakeMachine()
    found = sample_wall(machine.call(0, 50_000), machine, Plan(number=4, samples=2))

    assert (found.number, found.ns) == (4, (50_000.0, 50_000.0))


def test_a_block_lasts_long_enough_to_hide_its_ends():
    machine = FakeMachine()

    assert block_size(machine.call(1_000, 10_000), machine) == pytest.approx(1000, rel=0.05)
    assert block_size(machine.call(1_000, 2e7), machine) == 1


def test_a_block_is_longer_where_its_ends_cost_more():
    machine = FakeMachine()
    wait = machine.synchronize

    def slow_wait():
        wait()
        machine.time += 100_000

    machine.synchronize = slow_wait
    number = block_size(machine.call(1_000, 1e6), machine)

    assert number == pytest.approx(32, abs=4)
    found = sample_wall(machine.call(1_000, 1e6), machine, SHORT)
    assert found.ns[0] == pytest.approx(1e6, rel=0.004)


def test_warm_up_goes_on_until_calls_are_steady():
    machine = FakeMachine()
    slow = [1e9, 4e8, 2e8, 1e8, 9e7, 8e7, 7e7, 6e7, 5e7]
    found = warm_up(machine.call(0, times=[*slow, *[4e7] * 100]), machine)

    assert found.is_steady
    assert found.calls > len(slow) + 2
    assert found.first[0].name == "first-call"
    assert found.first[0].ns == 1e9


def test_warm_up_gives_up_and_says_so():
    machine = FakeMachine()
    times = [1e9 * 0.9**at for at in range(100)]
    found = warm_up(machine.call(0, times=times), machine, most_ns=5e9)

    assert not found.is_steady
    assert found.ns < 6.1e9


def test_long_calls_are_sampled_for_a_minute_and_no_less_than_three_times():
    machine = FakeMachine(has_device=False)

    def minutes():
        machine.time += 40e9

    for sample in (sample_wall, sample_submit):
        begin = machine.time
        found = sample(minutes, machine, Plan())

        assert found.ns == (40e9,) * 3
        assert machine.time - begin <= 5 * 40e9


def test_a_minute_is_no_limit_where_more_is_asked_for():
    machine = FakeMachine(has_device=False)

    def seconds():
        machine.time += 9e9

    assert len(sample_wall(seconds, machine, Plan(min_run_ns=80e9)).ns) == 9
    assert len(sample_wall(seconds, machine, Plan()).ns) == 7
    assert len(sample_wall(seconds, machine, Plan(samples=12)).ns) == 12
