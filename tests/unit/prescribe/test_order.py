"""Which prescriptions are offered, with which number, and in which order."""

from dataclasses import replace

import pytest

from boundby.prescribe.order import prescribe
from boundby.prescribe.prediction import without_waits
from boundby.replay.values import WhatIf
from cases import collective, program, wait

LOOP = {"kind": "loop", "launches": 1920.0}
REPLAYED = {"no_sync": 9.7}


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


def test_what_can_gain_less_than_two_percent_at_most_is_not_offered_without_a_number():
    case = program("compute-bound", mode={"training": False, "records_grad": True}, parts={})

    assert offered(case) == []


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


def test_results_are_read_back_at_the_cost_of_waits_for_copies():
    copies = (wait("host-copy", 1.0, cost=2.0), wait("item", 1.0, cost=0.0))
    uploads = {"to_host": 1.0, "to_host_ms": 2.0}
    case = program("sync-bound", syncs=copies, uploads=uploads, what_if={"no_sync": 5.0})

    assert the("async-readback", case).predicted_ms == 8.0
    assert not the("fewer-readbacks", case).pays


def test_predicted_changes_come_before_those_without_a_prediction():
    case = program(
        update=LOOP,
        mode={"training": False, "records_grad": True},
        what_if={"fused_optimizer": 9.0},
    )

    assert paying(case).index("fused-optimizer") < paying(case).index("inference-mode")


def test_the_batch_is_the_smallest_that_gains_nearly_as_much_as_the_best():
    filled = {"batch_x2": 12.0, "batch_x4": 22.0, "batch_x8": 42.0}
    growing = {"batch_x2": 10.1, "batch_x4": 10.2, "batch_x8": 10.4}

    assert the("larger-batch", program(what_if=filled)).edit == "batch_x2"
    assert the("larger-batch", program(what_if=growing)).edit == "batch_x4"
    assert the("larger-batch", program(what_if={"batch_x8": 10.4})).edit == "batch_x8"
    assert the("larger-batch", program()).edit is None


def test_a_larger_batch_counts_for_the_samples_of_today_with_one_factor_throughout():
    change = the("larger-batch", program(what_if={"batch_x8": 25.2}))

    assert change.predicted_ms == pytest.approx(3.15)
    assert (change.low, change.high) == pytest.approx((3.15 * 0.9, 3.15 * 1.1))
    assert "25.2 ms for 8 times the samples, 3.15 ms per batch of today" in change.why
    assert "batch_size=8 * batch_size" in change.how


def test_requests_are_batched_by_the_predicted_factor():
    case = program(mode={"training": False}, what_if={"batch_x2": 12.0, "batch_x4": 22.0})
    change = the("dynamic-batching", case)

    assert "12 ms for 2 times the samples, 6 ms per batch of today" in change.why
    assert "most = 2 * batch_size" in change.how
    assert "most = 4 *" in the("dynamic-batching", program(mode={"training": False})).how


def test_a_replay_that_takes_no_time_is_no_estimate():
    case = program(update=LOOP, what_if={"fused_optimizer": 1e-12})

    assert the("fused-optimizer", case).pays


def test_waits_beside_others_are_predicted_by_their_own_cost_and_its_range():
    waits = (wait("item", 24, cost=3.0), wait("explicit-sync", 2, cost=0.1))
    case = program("sync-bound", syncs=waits, what_if={"no_sync": 5.0})
    reads, stops = the("fewer-readbacks", case), the("remove-synchronize", case)

    assert (reads.edit, reads.predicted_ms) == (None, 7.0)
    assert (reads.low, reads.high) == pytest.approx((7.0 * 0.9, 7.0 * 1.1))
    assert (stops.predicted_ms, stops.pays) == (9.9, False)


def test_waits_of_one_kind_are_predicted_by_the_replay_without_waits():
    case = program("sync-bound", syncs=(wait("item", 24, cost=3.0),), what_if={"no_sync": 5.0})

    assert the("fewer-readbacks", case).edit == "no_sync"
    assert the("fewer-readbacks", case).predicted_ms == 5.0


def test_waits_that_were_not_replayed_have_no_number():
    waits = (wait("item", 24), wait("explicit-sync", 2))
    case = program("sync-bound", syncs=waits, what_if={"no_sync": 5.0})
    nothing = {"no_sync": WhatIf("no_sync", 0.0, 0.0, 0.0, 0.0)}
    alone = replace(program("sync-bound", syncs=waits[:1]), what_if=nothing)

    assert the("fewer-readbacks", case).predicted_ms is None
    assert "at most 6 ms" in the("fewer-readbacks", case).why
    assert the("fewer-readbacks", alone).predicted_ms is None
    assert without_waits(case, "host-copy") is None


def test_a_read_that_ends_a_step_on_a_deep_queue_is_not_charged_with_the_profilers_own_step():
    def reading(depth, count=1.0):
        case = program("compute-bound", syncs=(wait("item", count, depth),), what_if=REPLAYED)
        return the("fewer-readbacks", case)

    deep, shallow, several = reading(2.7), reading(0.1), reading(2.7, count=2.0)

    assert REPLAYED["no_sync"] == 9.7
    assert (deep.edit, deep.predicted_ms, deep.pays) == (None, 10.0, False)
    assert (deep.low, deep.high) == pytest.approx((9.7 * 0.9, 10.0 * 1.1))
    assert (shallow.edit, shallow.predicted_ms, shallow.pays) == ("no_sync", 9.7, True)
    assert several.pays
    assert reading(None).pays


def test_the_answer_to_the_cause_comes_first():
    fixes = {"fused_optimizer": 9.0, "compile_fusion": 4.0, "no_submit_cost": 0.5}
    case = program("launch-bound", cause="optimizer", update=LOOP, what_if=fixes)

    assert offered(case)[0] == "fused-optimizer"
    assert offered(program("launch-bound", update=LOOP, what_if=fixes))[0] != "fused-optimizer"


def test_an_answer_without_a_number_comes_after_those_with_one_and_before_the_rest():
    late = {"data": 0.8, "device-compute": 0.1, "submission": 0.1}
    case = program(
        "sync-bound", cause="data-loading", parts=late, update=LOOP,
        what_if={"no_data_wait": 2.0, "fused_optimizer": 9.5},
    )  # fmt: skip

    assert offered(case)[:4] == [
        "loader-workers",
        "offline-preprocessing",
        "augment-on-device",
        "fused-optimizer",
    ]


def test_an_answer_that_does_not_pay_stays_behind():
    case = program(
        "compute-bound", cause="precision", precision={"fp32": 0.8},
        what_if={"tf32": 9.9, "bf16": 7.0},
    )  # fmt: skip

    assert offered(case) == ["bf16", "tf32"]


@pytest.mark.parametrize(
    ("verdict", "first"),
    [
        ({"bound": "launch-bound"}, "larger-batch"),
        ({"bound": "launch-bound", "strength": "strong"}, "larger-batch"),
        ({"bound": "launch-bound", "strength": "weak"}, "compile-model"),
        ({"bound": "launch-bound", "cause": "guard"}, "compile-model"),
        ({"bound": "python-bound"}, "work-out-of-loop"),
    ],
)
def test_a_larger_batch_comes_after_what_computes_the_same_unless_launches_are_all(verdict, first):
    case = program(
        **verdict, what_if={"batch_x4": 10.0, "compile_fusion": 7.0, "no_python": 6.0}
    )  # fmt: skip

    changes = offered(case)
    assert first in changes[:2]
    assert (changes[0] == "larger-batch") == (first == "larger-batch")
    assert first == "larger-batch" or changes.index("larger-batch") > changes.index("compile-model")


def test_what_answers_exposed_communication_comes_first():
    case = program(
        "communication-bound",
        parts={"device-communication": 0.6, "device-compute": 0.2, "submission": 0.2},
        mode={"training": True, "recomputed": 0.1, "compiled": True, "in_graphs": True},
        ops=(collective("c10d::allreduce_", 4.0, 6.0),),
        update={"kind": "foreach"},
        what_if={"fused_optimizer": 8.0},
    )

    assert offered(case) == [
        "find-slow-rank",
        "fewer-messages",
        "overlap-communication",
        "compress-gradients",
        "fused-optimizer",
        "drop-checkpointing",
    ]
    assert all("No estimate" in change.why for change in prescribe(case)[:4])
    assert "hide" in the("overlap-communication", case).why
    assert "at most 2 ms" in the("overlap-communication", case).why
    assert "A step makes 4 collectives" in the("fewer-messages", case).why
    assert "at most 3 ms" in the("compress-gradients", case).why
    assert "at most 1 ms" not in the("drop-checkpointing", case).why
    assert "at most 0.8 ms" in the("drop-checkpointing", case).why


def test_a_switch_promises_nothing():
    change = the("debug-switches", program(switches={"blocking_launches": True}))

    assert change.why.endswith("No estimate: the recording was made under the switch.")


def test_where_nothing_tells_the_most_to_gain_none_is_named():
    case = program("launch-bound", loading={"in_process": False, "restarts": 4})
    change = the("persistent-workers", case)

    assert change.pays
    assert "at most" not in change.why
