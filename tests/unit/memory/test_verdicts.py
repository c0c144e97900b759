"""The verdict on planted causes: tiny worlds, and snapshots of an H200 whose name is the truth."""

from pathlib import Path

import pytest

from boundby.errors import CannotTellError
from boundby.memory.diagnose import diagnose
from boundby.read.memory_snapshot import read_snapshot

GIB, MIB = 1 << 30, 1 << 20
REAL = Path(__file__).resolve().parents[2] / "real" / "memory"

TRUTH = {
    "leak_list_outputs": ("leak", "kept-outputs"),
    "fragmentation_oom": ("fragmentation", "pinned-segments"),
    "peak_attention": ("transient-peak", "attention-scores"),
    "healthy": ("healthy", None),
}
SHARED_TRUTH = {
    "h200/leak_loss_graph": ("leak", "loss-graph"),
    "h200/peak_optimizer_foreach": ("transient-peak", "optimizer-step"),
    "h200/eval_without_no_grad": ("transient-peak", "evaluation-without-no-grad"),
    "h200/fragmentation_dynamic_shapes": ("fragmentation", "varying-sizes"),
    "h200/really_full": ("really-full", "limit"),
    "public/oom_4gpu_really_full": ("really-full", "activations"),
    "public/transient_peak_12gib": ("transient-peak", "activations"),
    "public/forward_only": ("healthy", None),
    "public/attention_peak_small": ("transient-peak", "attention-scores"),
}


def found(diagnosis):
    return diagnosis.verdict.name, diagnosis.verdict.cause


@pytest.mark.parametrize("name", TRUTH)
def test_a_recorded_cause_is_named(name):
    diagnosis = diagnose(read_snapshot(REAL / f"{name}.pickle.gz"))

    assert found(diagnosis) == TRUTH[name]
    assert set(diagnosis.verdict.because) <= {fact.id for fact in diagnosis.evidence}


@pytest.mark.parametrize("name", SHARED_TRUTH)
def test_a_shared_cause_is_named(name, shared):
    diagnosis = diagnose(read_snapshot(shared / "snapshots" / f"{name}.pickle.gz"))

    assert found(diagnosis) == SHARED_TRUTH[name]


def test_the_end_state_does_not_decide(shared):
    path = shared / "snapshots" / "public" / "oom_4gpu_really_full.pickle.gz"
    diagnosis = diagnose(read_snapshot(path))

    assert diagnosis.device == 1
    assert diagnosis.case.history.live_curve[-1] < GIB
    assert diagnosis.case.peak.live > 78 * GIB
    assert diagnosis.prescriptions[0].where[0].file.endswith("models.py")


def test_expandable_segments_are_not_advised_twice(shared):
    path = shared / "snapshots" / "public" / "oom_4gpu_really_full.pickle.gz"
    diagnosis = diagnose(read_snapshot(path))

    assert "expandable-segments" not in {remedy.id for remedy in diagnosis.prescriptions}


def test_28_of_48_segments_were_avoidable_with_dynamic_shapes_and_none_when_healthy(shared):
    path = shared / "snapshots" / "h200" / "fragmentation_dynamic_shapes.pickle.gz"
    dynamic = diagnose(read_snapshot(path)).case.fragmentation
    healthy = diagnose(read_snapshot(REAL / "healthy.pickle.gz")).case.fragmentation

    assert (dynamic.avoidable_requests, dynamic.segment_requests) == (28, 48)
    assert healthy.avoidable_requests == 0


def test_the_leak_names_the_line_that_allocates_what_is_kept():
    diagnosis = diagnose(read_snapshot(REAL / "leak_list_outputs.pickle.gz"))
    row = diagnosis.case.growth.rows[0]

    assert (row.origin.place.function, row.origin.place.line) == ("leak_list_outputs", 23)
    assert row.bytes_per_step == 8 * MIB


def test_the_shape_of_attention_scores_is_guessed_from_the_sizes_beside_them():
    peak = diagnose(read_snapshot(REAL / "peak_attention.pickle.gz")).case.peak

    assert "64 x 4096 x 4096" in peak.holders[0].shape


def steps_of(world, stack, count, keep=(), extra=0):
    """Run training steps of 4 layers; ``keep`` names layers whose output lives on."""
    for _ in range(count):
        kept = [world.alloc(4, stack["forward"](10 + layer)) for layer in range(4)]
        grad = world.alloc(4, stack["backward"])
        for layer, address in enumerate(kept):
            if layer not in keep:
                world.free(address)
        state = world.alloc(1 + extra, stack["optimizer"](20))
        world.free(grad, state)


def test_steps_that_return_to_their_level_are_healthy(world, judged, stack):
    world.alloc(64, stack["built"](1))
    steps_of(world, stack, 10)

    assert found(judged(world)) == ("healthy", None)
    assert judged(world).verdict.strength == "strong"


def test_a_leak_of_which_few_steps_are_left_is_not_called_healthy_for_sure(world, judged, stack):
    steps_of(world, stack, 12, keep=(3,))
    world.forget(len(world.events) * 2 // 3)

    assert judged(world).verdict.strength == "weak"


def test_layers_that_rise_and_fall_with_each_pass_wait_for_no_collector(world, judged, stack):
    def layer(number):
        if number % 4 == 0:
            world.free(*list(world.blocks))
        world.alloc(20, stack["forward"](7))
        world.free(world.alloc(4, [stack["frame"](50, "norm"), *stack["forward"](7)]))

    for number in range(16):
        layer(number)
    diagnosis = judged(world)

    assert diagnosis.case.steps.source == "repeating stacks"
    assert diagnosis.verdict.name == "healthy"


def test_one_output_kept_each_step_is_a_container(world, judged, stack):
    steps_of(world, stack, 10, keep=(3,))
    diagnosis = judged(world)

    assert found(diagnosis) == ("leak", "kept-outputs")
    assert diagnosis.prescriptions[0].where[0].line == 13


@pytest.mark.parametrize("size", [None, -8, float("nan"), "x", True])
def test_entries_without_a_size_are_left_out_and_weaken(world, judged, stack, size):
    steps_of(world, stack, 10, keep=(3,))
    for event in world.events[1::8]:
        event["size"] = size
    snapshot = world.snapshot()
    snapshot["segments"][0]["blocks"][0]["size"] = size
    snapshot["segments"][1]["total_size"] = size
    diagnosis = judged(snapshot)

    assert diagnosis.quality[0].id == "unreadable-entries"
    assert diagnosis.quality[0].count >= len(world.events[1::8]) + 2
    assert diagnosis.verdict.strength in ("weak", None)
    assert all(row.size >= 0 for row in diagnosis.segments.rows)
    assert diagnosis.segments.rows


def test_several_layers_kept_each_step_are_a_graph(world, judged, stack):
    steps_of(world, stack, 10, keep=(0, 1, 2, 3))

    assert found(judged(world)) == ("leak", "loss-graph")
    assert judged(world).prescriptions[0].id == "detach-loss"


def test_four_steps_are_too_few_for_a_leak(world, judged, stack):
    steps_of(world, stack, 4, keep=(3,))

    assert judged(world).verdict.name != "leak"


def test_a_refusal_beside_enough_free_memory_in_pieces_is_fragmentation(world, judged, stack):
    blocks = [world.alloc(5, stack["user"](1)) for _ in range(16)]
    for number, address in enumerate(blocks):
        if number % 4:
            world.free(address)
    world.refuse(30)

    assert found(judged(world)) == ("fragmentation", "pinned-segments")
    assert [r.id for r in judged(world).prescriptions][:2] == [
        "expandable-segments", "allocate-survivors-apart",
    ]  # fmt: skip


def test_the_same_request_where_too_little_is_free_is_really_full(world, judged, stack):
    for _ in range(16):
        world.alloc(5, stack["user"](1))
    world.refuse(30)

    assert judged(world).verdict.name == "really-full"


def test_max_split_size_is_removed_before_expandable_segments(world, judged, stack):
    blocks = [world.alloc(5, stack["user"](1)) for _ in range(16)]
    for number, address in enumerate(blocks):
        if number % 4:
            world.free(address)
    world.refuse(30)
    settings = {"max_split_size": 128 * MIB, "expandable_segments": False}
    diagnosis = judged(world.snapshot(allocator_settings=settings))

    assert "remove max_split_size_mb" in diagnosis.prescriptions[0].why
    assert "split-limit" not in {remedy.id for remedy in diagnosis.prescriptions}


def test_a_request_larger_than_everything_is_a_shape(world, judged, stack):
    for _ in range(10):
        world.alloc(4, stack["user"](1))
    world.refuse(9000, device_free_mib=8000)

    assert judged(world).verdict.name == "request-too-large"


@pytest.mark.parametrize(
    ("mib", "verdict"),
    [(900, ("reserved-elsewhere", "other-process")), (300 * 1024, ("request-too-large", None))],
)
def test_a_process_that_sees_less_than_any_device_has_shares_its_device(
    world, judged, stack, mib, verdict
):
    for _ in range(10):
        world.alloc(4, stack["user"](1))
    world.refuse(mib, device_free_mib=100)

    assert found(judged(world)) == verdict


def test_memory_of_others_is_told_where_the_capacity_is_known(world, judged, stack):
    for _ in range(10):
        world.alloc(4, stack["user"](1))
    world.refuse(200, device_free_mib=50)

    assert found(judged(world, capacity=GIB)) == ("reserved-elsewhere", "other-process")


def test_a_limit_refuses_what_the_device_could_hold(world, judged, stack):
    blocks = [world.alloc(18, stack["user"](1)) for _ in range(10)]
    world.free(*blocks[:4])
    world.refuse(100, device_free_mib=4000)
    world.segments = dict(list(world.segments.items())[4:])
    events = world.events
    for address, size in ((b, 20 * MIB) for b in blocks[:4]):
        events.insert(-1, {"action": "segment_free", "addr": address, "size": size, "stream": 0})

    assert found(judged(world)) == ("really-full", "limit")


def test_without_a_history_there_is_no_verdict(judged):
    blocks = [{"address": 512, "size": MIB, "state": "active_allocated"}]
    segments = [{"device": 0, "address": 512, "total_size": MIB, "blocks": blocks}]

    assert judged({"segments": segments}).verdict.name == "undecided"


def test_a_history_of_unknown_entries_is_none(world, judged, stack):
    steps_of(world, stack, 10)
    snapshot = world.snapshot()
    snapshot["device_traces"] = [[event | {"action": "dream"} for event in world.events]]

    assert judged(snapshot).verdict.name == "undecided"


@pytest.mark.parametrize("size", [1 << 47, (1 << 62) + 512])
def test_more_memory_than_any_device_has_is_no_verdict(world, judged, stack, size):
    steps_of(world, stack, 10)
    snapshot = world.snapshot()
    for segment in snapshot["segments"]:
        segment["total_size"] = size
    for event in world.events:
        event["size"] = size

    diagnosis = judged(snapshot)
    assert diagnosis.verdict.name == "undecided"
    assert "more memory than any device" in diagnosis.verdict.undecided_reason


def test_a_file_without_segments_says_so(world, judged, stack):
    steps_of(world, stack, 10)
    events = [event for event in world.events if not event["action"].startswith("segment")]
    whole, cut = judged(world), judged({"segments": [], "device_traces": [events]})

    assert "memory-segments-missing" in [each.id for each in cut.quality]
    assert "memory-segments-missing" not in [each.id for each in whole.quality]


def test_a_device_that_is_not_there_cannot_be_judged(world, judged, stack):
    world.alloc(4, stack["user"](1))

    with pytest.raises(CannotTellError, match="device 3"):
        judged(world, device=3)
    with pytest.raises(CannotTellError, match="no memory of any device"):
        judged({"segments": [], "device_traces": []})


def test_parts_sum_to_what_is_reserved(world, judged, stack):
    world.alloc(64, stack["built"](1))
    steps_of(world, stack, 6)
    case = judged(world).case

    assert sum(share.bytes or 0 for share in case.composition) == case.peak.reserved


def test_composition_by_stack_and_lifetime(world, judged, stack):
    world.alloc(64, stack["built"](1))
    states = []
    for _ in range(6):
        outs = [world.alloc(8, stack["forward"](10 + layer)) for layer in range(4)]
        grads = [world.alloc(4, stack["backward"]) for _ in range(2)]
        world.free(*outs)
        states = states or [world.alloc(16, stack["optimizer"](20))]
        world.free(*grads)
    parts = {share.part: share.bytes for share in judged(world).case.composition}

    assert parts["parameters"] == 64 * MIB
    assert parts["optimizer"] == 16 * MIB
    assert parts["activations"] == 32 * MIB
    assert parts["gradients"] == 8 * MIB


def test_pointers_of_the_program_make_the_composition_exact(world, judged, stack):
    first = world.alloc(64, stack["user"](1))
    steps_of(world, stack, 6)
    names = {0: {first: "parameters"}}
    share = next(s for s in judged(world, names=names).case.composition if s.part == "parameters")

    assert (share.bytes, share.confidence) == (64 * MIB, "exact")
