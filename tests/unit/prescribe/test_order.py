"""Which prescriptions are offered, with which number, and in which order."""

from boundby.prescribe.order import prescribe
from cases import program, wait

LOOP = {"kind": "loop", "launches": 1920.0}


def offered(case):
    return [change.id for change in prescribe(case)]


def paying(case):
    return [change.id for change in prescribe(case) if change.pays]


def the(identity, case):
    return next(change for change in prescribe(case) if change.id == identity)


def test_a_prescription_carries_the_step_its_edit_predicts():
    case = program(update=LOOP, what_if={"fused_optimizer": 8.0})
    change = the("fused-optimizer", case)

    assert (change.edit, change.predicted_ms) == ("fused_optimizer", 8.0)
    assert change.low < 8.0 < change.high
    assert "No estimate" not in change.why


def test_without_a_replay_it_says_why_and_what_is_the_most_it_can_gain():
    change = the("inference-mode", program(mode={"training": False, "records_grad": True}))

    assert (change.predicted_ms, change.low, change.high) == (None, None, None)
    assert "No estimate: a recording does not separate" in change.why
    assert "at most 8 ms" in change.why


def test_an_edit_that_was_not_replayed_gives_no_number():
    change = the("fused-optimizer", program(update=LOOP))

    assert change.predicted_ms is None
    assert "does not let it be replayed" in change.why


def test_without_a_verdict_nothing_is_prescribed():
    assert prescribe(program("undecided", parts={}, update=LOOP)) == ()


def test_below_two_percent_it_is_listed_last_with_its_number():
    case = program(update=LOOP, what_if={"fused_optimizer": 9.9, "batch_x4": 12.0})

    assert "fused-optimizer" not in paying(case)
    assert the("fused-optimizer", case).predicted_ms == 9.9
    assert offered(case).index("fused-optimizer") > offered(case).index("larger-batch")


def test_what_can_gain_less_than_two_percent_at_most_does_not_pay():
    case = program("compute-bound", mode={"training": False, "records_grad": True}, parts={})

    assert offered(case) == ["inference-mode"]
    assert paying(case) == []


def test_larger_gain_comes_first():
    case = program(
        "launch-bound",
        update=LOOP,
        origins={"python_loop": 0.5},
        what_if={"fused_optimizer": 4.0, "vectorized": 9.0},
    )

    assert offered(case).index("fused-optimizer") < offered(case).index("vectorize-loop")


def test_risk_divides_gain():
    case = program("compute-bound", precision={"fp32": 0.8}, what_if={"tf32": 3.0, "bf16": 2.0})

    assert offered(case)[:2] == ["tf32", "bf16"]


def test_among_like_gains_the_order_of_the_method_holds_and_graphs_come_last():
    case = program(
        "launch-bound",
        parts={"submission": 0.8, "device-compute": 0.2},
        mode={"training": True, "compiled": False, "in_graphs": False},
        update=LOOP,
        origins={"python_loop": 0.8},
        what_if={
            "batch_x2": 12.0,
            "fused_optimizer": 8.0,
            "compile_fusion": 6.0,
            "vectorized": 6.0,
            "no_submit_cost": 2.0,
        },
    )

    assert paying(case)[:5] == [
        "larger-batch",
        "fused-optimizer",
        "compile-model",
        "vectorize-loop",
        "cuda-graph",
    ]


def test_a_debug_switch_comes_before_everything():
    case = program(
        switches={"blocking_launches": True}, update=LOOP, what_if={"fused_optimizer": 1.0}
    )

    assert offered(case)[0] == "debug-switches"
    assert the("debug-switches", case).pays


def test_predicted_changes_come_before_those_without_a_prediction():
    case = program(
        update=LOOP,
        mode={"training": False, "records_grad": True},
        what_if={"fused_optimizer": 9.0},
    )

    assert paying(case).index("fused-optimizer") < paying(case).index("inference-mode")


def test_the_batch_is_the_smallest_that_gains_nearly_as_much_as_the_best():
    saturating = {"batch_x2": 10.5, "batch_x4": 12.0, "batch_x8": 22.0}
    growing = {"batch_x2": 10.1, "batch_x4": 10.2, "batch_x8": 10.4}

    assert the("larger-batch", program(what_if=saturating)).edit == "batch_x4"
    assert the("larger-batch", program(what_if=growing)).edit == "batch_x8"
    assert the("larger-batch", program(what_if={"batch_x8": 10.4})).edit == "batch_x8"
    assert the("larger-batch", program()).edit is None


def test_a_replay_that_takes_no_time_is_no_estimate():
    case = program(update=LOOP, what_if={"fused_optimizer": 1e-12})

    assert the("fused-optimizer", case).pays


def test_waits_of_several_kinds_share_one_prediction_and_say_so():
    waits = (wait("item", 24), wait("explicit-sync", 2))
    case = program("sync-bound", syncs=waits, what_if={"no_sync": 5.0})

    assert "all kinds of waits together" in the("fewer-readbacks", case).why
