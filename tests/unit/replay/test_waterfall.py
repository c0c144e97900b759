"""Parts of a step worked out by hand, and the ladder down to the device's own time."""

import pytest

from boundby.replay.edits import scaled_device
from boundby.replay.ladder import Floor, climb_down
from boundby.replay.split import PARTS, DeviceSplit
from boundby.replay.waterfall import descend, waterfall
from boundby.timeline.hostline import LineKind
from boundby.verdict.classes import leading_part, shares_of
from worlds import ALL_REDUCE, ELEMENTWISE, GEMM, Script, World, diagnosis_of

LOADER, OP, PYTHON = LineKind.LOADER, LineKind.OP, LineKind.PYTHON


def split(busy, **shares):
    """Device time a step, all of it ``compute`` unless said otherwise."""
    given = {f"device-{name}": share for name, share in (shares or {"compute": 1}).items()}
    return DeviceSplit(busy, {part: given.get(part, 0) for part in PARTS})


def parts(program, device):
    """Parts in ns; those of nothing left out."""
    found = waterfall(program, descend(program, device), device)
    return {p.part: round(p.ms * 1e6) for p in found if p.ms > 1e-9}


def steps(*points, count=3):
    """The same points in every step: (``launch`` | ``wait``, arguments ...)."""
    script = Script()
    for _ in range(count):
        for verb, *args in points:
            getattr(script, verb)(*args)
        script.end_step()
    return script.program()


def test_a_host_that_paces_the_device_is_charged_for_the_difference():
    program = steps(("launch", {PYTHON: 300, OP: 600}, 400))

    assert parts(program, split(400)) == {"python": 167, "submission": 333, "device-compute": 400}


def test_host_work_that_the_device_hides_costs_nothing():
    program = steps(("launch", {PYTHON: 300, OP: 600}, 1000))

    assert parts(program, split(1000)) == {"device-compute": 1000}


def test_a_wait_is_charged_with_what_it_keeps_from_overlapping():
    program = steps(("launch", {OP: 600}, 1000), ("wait", 10))

    assert parts(program, split(1000)) == {"sync": 600, "device-compute": 1000}


def test_a_wait_at_the_end_of_a_deep_queue_costs_next_to_nothing():
    deep = [("launch", {OP: 10}, 1000)] * 20
    program = steps(*deep, ("wait", 10))

    assert parts(program, split(20_000)) == {"sync": 10, "device-compute": 20_000}


def test_a_loader_is_charged_for_what_the_device_does_not_hide():
    program = steps(("launch", {LOADER: 1500, OP: 100}, 1000))

    assert parts(program, split(1000)) == {"data": 600, "device-compute": 1000}


def test_python_and_submission_share_their_drop_in_proportion_to_their_time():
    near_balance = steps(("launch", {PYTHON: 500, OP: 500}, 10))

    assert parts(near_balance, split(10)) == {
        "python": 495,
        "submission": 495,
        "device-compute": 10,
    }


def test_device_time_is_split_by_kind_and_its_gaps_are_other():
    script = Script()
    for _ in range(3):
        script.launch(1, 600, lead=50)
        script.launch(1, 300, lead=50)
        script.end_step()
    device = split(900, compute=2 / 3, copy=1 / 3)

    assert parts(script.program(), device) == {
        "device-compute": 600,
        "device-copy": 300,
        "device-other": 100,
    }


def test_device_time_split_by_the_kernels_of_a_recording():
    world = World(lead=0)
    for _ in world.steps(3):
        for work, dur in ((GEMM, 400), (ELEMENTWISE, 200), (ALL_REDUCE, 200)):
            for _ in range(3):
                world.op(15, kernel=dur, work=work)
    shares = shares_of(diagnosis_of(world.finish()).waterfall)

    assert shares["device-compute"] == pytest.approx(0.50, abs=0.01)
    assert shares["device-memory"] == pytest.approx(0.25, abs=0.01)
    assert shares["device-communication"] == pytest.approx(0.25, abs=0.01)


# --- Ladder ---------------------------------------------------------------------------------------


def ladder(program, device, floor=None):
    rungs = climb_down(program, device, lambda found: leading_part(shares_of(found)), floor)
    return [(r.part, r.fix, round(r.step_ms * 1e6), r.pays) for r in rungs]


def test_a_device_bound_program_stands_on_the_ground():
    program = steps(("launch", {OP: 10}, 1000))

    assert ladder(program, split(1000)) == [("device-compute", "", 1000, False)]


def test_each_fix_uncovers_the_next_bound():
    program = steps(("launch", {LOADER: 9000, PYTHON: 4000, OP: 2500}, 1000))

    # A graph of the step: 1,000 ns and what a node adds.
    assert ladder(program, split(1000)) == [
        ("data", "no_data_wait", 6500, True),
        ("python", "no_python", 2500, True),
        ("submission", "no_submit_cost", 1350, True),
        ("device-compute", "", 1350, False),
    ]


def test_with_every_host_cost_fixed_the_ladder_ends():
    sync = LineKind.SYNC
    program = steps(("launch", {LOADER: 12000, PYTHON: 4000, OP: 2500}, 1), ("wait", {sync: 8000}))

    fixes = [fix for _, fix, _, _ in ladder(program, split(1))]
    assert fixes == ["no_data_wait", "no_sync", "no_python", "no_submit_cost"]


def test_a_fix_that_buys_less_than_a_fiftieth_is_marked():
    program = steps(("launch", {PYTHON: 5, OP: 5}, 40), ("wait", {LineKind.SYNC: 1}))
    found = ladder(program, split(40))

    assert found[0] == ("sync", "no_sync", 40, True)
    assert not any(pays for *_, pays in found[1:])


def test_below_the_device_stand_its_roofs():
    floor = Floor(lambda p: scaled_device(p, 0.5), split(500, memory=1))
    bound = steps(("launch", {OP: 10}, 1000))
    fixed = steps(("launch", {OP: 2500}, 1000))

    assert ladder(bound, split(1000), floor) == [
        ("device-compute", "kernels_at_roofline", 500, True),
        ("device-memory", "", 500, False),
    ]
    assert [fix for _, fix, _, _ in ladder(fixed, split(1000), floor)] == [
        "no_submit_cost",
        "kernels_at_roofline",
        "",
    ]


def test_kernels_at_their_roofs_have_no_rung_below_them():
    floor = Floor(lambda p: p, split(1000))
    program = steps(("launch", {OP: 10}, 1000))

    assert ladder(program, split(1000), floor) == [("device-compute", "", 1000, False)]


def test_what_the_roofs_save_may_not_pay():
    floor = Floor(lambda p: scaled_device(p, 0.99), split(990))
    program = steps(("launch", {OP: 10}, 1000))

    assert ladder(program, split(1000), floor)[0] == (
        "device-compute",
        "kernels_at_roofline",
        990,
        False,
    )
