"""When to stop: host, device, and what remains."""

import pytest

from boundby.prescribe.stop import at_ceiling, device_done, host_done
from cases import program


def test_the_host_is_done_when_taking_submission_away_gains_nothing():
    assert host_done(program("compute-bound", what_if={"no_submit_cost": 9.9})).reached is True
    assert host_done(program("launch-bound", what_if={"no_submit_cost": 4.0})).reached is False


def test_launch_calls_that_wait_in_a_full_queue_do_not_keep_the_host_from_being_done():
    case = program("compute-bound", what_if={"no_submit_cost": 9.9}, busy=0.97, launch_calls=0.27)

    assert host_done(case).reached is True


@pytest.mark.parametrize(
    ("busy", "launch_calls", "reached"),
    [(0.95, 0.05, True), (0.95, 0.3, False), (0.5, 0.05, False), (None, 0.05, None)],
)
def test_without_a_replay_the_two_shares_of_the_method_decide(busy, launch_calls, reached):
    case = program("compute-bound", busy=busy, launch_calls=launch_calls)

    assert host_done(case).reached is reached


def test_the_device_is_done_near_its_roofline_with_nothing_left_to_fuse():
    near = program("compute-bound", what_if={"kernels_at_roofline": 8.5})
    far = program("compute-bound", what_if={"kernels_at_roofline": 3.0})
    unfused = program("memory-bound", what_if={"kernels_at_roofline": 8.5, "compile_fusion": 6.0})

    assert device_done(near).reached is True
    assert device_done(far).reached is False
    assert device_done(unfused).reached is False
    assert "fusing" in device_done(unfused).because
    assert device_done(program("compute-bound")).reached is None


def test_a_waiting_device_is_not_done_however_good_its_kernels():
    case = program("launch-bound", what_if={"kernels_at_roofline": 9.9})

    assert device_done(case).reached is False


def test_at_the_ceiling_only_less_work_or_more_devices_remain():
    done = program("compute-bound", what_if={"no_submit_cost": 9.95, "kernels_at_roofline": 9.0})
    host_left = program("launch-bound", what_if={"no_submit_cost": 5.0, "kernels_at_roofline": 9.0})

    assert "less work" in at_ceiling(done)
    assert "more devices" in at_ceiling(done)
    assert at_ceiling(host_left) is None
    assert at_ceiling(program("compute-bound")) is None
