"""Advice that is right for one program and wrong for its neighbour.

Each pair is taken from a public report or from a measurement; the sentence says what was seen.
"""

import re

import pytest

from boundby.evidence.tables import RangeRow
from boundby.prescribe.capability import has_bf16, has_fp16_only, has_tf32
from boundby.prescribe.catalogue import RULES
from boundby.prescribe.order import prescribe
from cases import collective, program, wait

LAUNCHES = {"submission": 0.7, "device-compute": 0.3}
SATURATED = {"submission": 0.05, "device-compute": 0.95}


def ids(case):
    return {change.id for change in prescribe(case)}


def paying(case):
    return {change.id for change in prescribe(case) if change.pays}


def test_many_waits_on_a_deep_queue_cost_nothing():
    read = (wait("item", 1, 2.7),)
    deep = program("compute-bound", syncs=read, what_if={"no_sync": 9.95})
    shallow = program("sync-bound", syncs=read, what_if={"no_sync": 6.0})

    assert "fewer-readbacks" in ids(deep) - paying(deep)
    assert "fewer-readbacks" in paying(shallow)


def test_twelve_waits_removed_may_gain_two_percent_only():
    case = program("launch-bound", syncs=(wait("explicit-sync", 12),), what_if={"no_sync": 9.85})

    assert "remove-synchronize" in ids(case) - paying(case)


def test_low_precision_slows_a_launch_bound_step_and_is_not_offered():
    slow_products = {"fp32": 0.6}

    assert not ids(program("launch-bound", precision=slow_products)) & {"tf32", "bf16", "fp16"}
    assert {"tf32", "bf16"} <= ids(program("compute-bound", precision=slow_products))


def test_low_precision_waits_for_a_correctness_test_in_fp32():
    checked = program("compute-bound", precision={"fp32": 0.8}, live={"fp32_checked": True})
    unchecked = program("compute-bound", precision={"fp32": 0.8}, live={"fp32_checked": False})
    unknown = program("compute-bound", precision={"fp32": 0.8})

    assert {"tf32", "bf16"} <= ids(checked)
    assert not {"tf32", "bf16"} & ids(unchecked)
    assert all(
        change.how.startswith("# first: keep")
        for change in prescribe(unknown)
        if change.id in ("tf32", "bf16")
    )


@pytest.mark.parametrize(
    ("device", "offered"),
    [
        ("NVIDIA H200", {"tf32", "bf16"}),
        ("NVIDIA GeForce RTX 3090", {"tf32", "bf16"}),
        ("AMD Instinct MI250X", {"bf16"}),
        ("AMD Instinct MI210", {"bf16"}),
        ("AMD Instinct MI300X", {"tf32", "bf16"}),
        ("Tesla T4", {"fp16"}),
        ("Tesla V100-SXM2-16GB", {"fp16"}),
        ("NVIDIA GeForce RTX 2080 Ti", {"fp16"}),
        ("NVIDIA GeForce GTX 1650", set()),
        ("Tesla P100-PCIE-16GB", set()),
        (None, {"tf32", "bf16"}),
    ],
)
def test_a_device_without_such_units_is_offered_nothing_for_them(device, offered):
    case = program("compute-bound", precision={"fp32": 0.8}, device=device)

    assert ids(case) & {"tf32", "bf16", "fp16"} == offered


def test_an_unnamed_device_is_told_to_check():
    case = program("compute-bound", cause="precision", precision={"fp32": 0.8}, device=None)
    other = program("compute-bound", precision={"fp32": 0.8}, device="Accelerator 9000")

    assert all("does not name its device" in change.why for change in prescribe(case))
    assert all("Accelerator 9000 has it is not known" in each.why for each in prescribe(other))


def test_low_precision_answers_only_on_a_device_known_to_have_it():
    def first(device):
        chains = {"elementwise_device": 0.5}
        case = program(
            "compute-bound", cause="precision", precision={"fp32": 0.8}, device=device,
            origins=chains, what_if={"tf32": 8.0, "bf16": 8.5, "compile_fusion": 6.0},
        )  # fmt: skip
        return prescribe(case)[0].id

    assert first("NVIDIA H200") == "tf32"
    assert first(None) == "compile-model"


def test_tf32_on_rocm_needs_a_switch_more():
    def how(device):
        case = program("compute-bound", precision={"fp32": 0.8}, device=device)
        return next(change.how for change in prescribe(case) if change.id == "tf32")

    assert "HIPBLASLT_ALLOW_TF32=1" in how("AMD Instinct MI300X")
    assert "HIPBLASLT" not in how("NVIDIA H200")


def test_low_precision_is_offered_where_computing_takes_most_of_the_step():
    mostly = {"submission": 0.2, "device-compute": 0.7, "device-memory": 0.1}
    case = program("launch-bound", parts=mostly, precision={"fp32": 0.6}, what_if={"tf32": 10.0})

    assert "tf32" in ids(case) - paying(case)


def test_bf16_gains_at_most_half_of_what_is_in_tf32_already():
    case = program("compute-bound", precision={"fp32": 0.0, "tf32": 0.8})
    why = next(change.why for change in prescribe(case) if change.id == "bf16")

    assert "at most 4.75 ms" in why


def test_what_is_known_of_devices():
    assert has_tf32("NVIDIA A100-SXM4-80GB")
    assert has_tf32("some accelerator") is None
    assert has_tf32("NVIDIA A100-SXM4")
    assert has_tf32("NVIDIA RTX A6000")
    assert has_tf32("AMD Instinct MI300X")
    assert has_tf32("AMD Instinct MI300A")
    assert has_tf32("AMD Instinct MI250") is False
    assert has_tf32("Tesla P100-PCIE-16GB") is False
    assert has_fp16_only("NVIDIA TITAN V")
    assert has_bf16("AMD Radeon RX 7900") is None
    assert has_bf16("AMD Instinct MI300X")
    assert not has_fp16_only(None)


def test_a_larger_batch_gains_nothing_after_saturation():
    predicted = {"batch_x4": 12.0}

    assert "larger-batch" in paying(program("launch-bound", parts=LAUNCHES, what_if=predicted))
    assert "larger-batch" not in ids(program("launch-bound", parts=SATURATED, what_if=predicted))


def test_a_larger_batch_is_loaded_no_faster():
    late = program("sync-bound", parts={"data": 0.8, "device-compute": 0.2})

    assert "larger-batch" not in ids(late)


def test_requests_are_batched_for_throughput_and_pay_in_latency():
    case = program("launch-bound", mode={"training": False}, what_if={"batch_x4": 12.0})
    change = next(each for each in prescribe(case) if each.id == "dynamic-batching")

    assert "waits for the window" in change.costs.shapes
    busy = program("launch-bound", parts=SATURATED, mode={"training": False})
    assert "dynamic-batching" not in ids(busy)


def test_checkpointing_on_a_busy_device_is_a_loss():
    full = {"memory_used": 0.95}
    gains = {"batch_x4": 12.0}
    busy = program(
        "compute-bound", mode={"training": True, "recomputed": 0.25}, what_if=gains, live=full
    )
    waiting = program("launch-bound", mode={"training": True}, what_if=gains, live=full)

    assert "checkpointing" not in ids(busy)
    assert "checkpointing" in ids(waiting)
    assert "drop-checkpointing" in ids(program("compute-bound", mode={"recomputed": 0.25}))


def test_checkpointing_must_buy_more_than_it_costs():
    too_little = program(
        "launch-bound",
        mode={"training": True},
        what_if={"batch_x4": 38.0},
        live={"memory_used": 0.95},
    )
    unknown = program("launch-bound", mode={"training": True}, live={"memory_used": 0.95})

    assert "checkpointing" not in ids(too_little) | ids(unknown)


def test_cudnn_benchmark_is_for_fixed_sizes_and_off_for_changing_ones():
    def convolutions(*, on, vary):
        return program(
            "compute-bound",
            layout={"convolutions": 0.8},
            mode={"shapes_vary": vary},
            live={"cudnn_benchmark": on},
        )

    assert "cudnn-benchmark" in ids(convolutions(on=False, vary=False))
    assert "cudnn-benchmark" not in ids(convolutions(on=False, vary=True))
    assert "cudnn-benchmark-off" in ids(convolutions(on=True, vary=True))
    assert "cudnn-benchmark-off" not in ids(convolutions(on=True, vary=False))


def test_cudnn_benchmark_is_for_convolutions():
    case = program(
        "compute-bound",
        layout={"convolutions": 0.0},
        mode={"shapes_vary": False},
        live={"cudnn_benchmark": False},
    )

    assert "cudnn-benchmark" not in ids(case)


def test_workspace_is_for_convolutions():
    live = {"memory_used": 0.3, "cudnn_benchmark": True}

    assert "cudnn-workspace" not in ids(program("launch-bound", live=live))


def test_channels_last_is_not_for_grouped_convolutions_nor_for_full_fp32():
    def images(precision, **layout):
        return program("compute-bound", layout={"transposes": 0.2, **layout}, precision=precision)

    assert "channels-last" in ids(images({"half": 0.6}))
    assert "channels-last" not in ids(images({"half": 0.6}, grouped=True))
    assert "channels-last" not in ids(images({"fp32": 0.6}))


def test_the_collector_is_scheduled_never_just_disabled():
    rule = next(rule for rule in RULES if rule.id == "gc-schedule")

    assert rule.how.count("gc.collect()") == 2
    assert "leaks" in rule.does_not_help


def test_more_workers_until_the_cores_are_used_then_fewer_threads():
    late = {"data": 0.8, "device-compute": 0.2}
    room = program("sync-bound", parts=late, live={"cores": 16, "threads": 8, "workers": 2})
    crowded = program("sync-bound", parts=late, live={"cores": 8, "threads": 8, "workers": 8})

    assert "loader-workers" in ids(room)
    assert "thread-limit" not in ids(room)
    assert "loader-workers" not in ids(crowded)
    assert "thread-limit" in ids(crowded)


def test_workers_that_run_as_many_threads_as_there_are_cores_are_too_many_at_any_number():
    live = {"cores": 32, "threads": 4, "workers": 2, "worker_threads": 32}
    case = program("sync-bound", live=live)

    assert "2 loader workers run up to 32 threads each" in why_of("thread-limit", case)


def test_switches_known_from_the_process_are_named():
    case = program(live={"switches": ("CUDA_LAUNCH_BLOCKING",)})

    assert "On in this process: CUDA_LAUNCH_BLOCKING" in why_of("debug-switches", case)


def test_workers_do_not_pay_for_batches_that_load_in_no_time():
    in_memory = program("sync-bound", parts={"data": 0.08, "sync": 0.5, "device-compute": 0.42})

    assert "loader-workers" not in ids(in_memory)


def test_workers_started_anew_show_as_one_long_wait():
    waits = {"in_process": False, "wait_ms": 20.0, "longest_ms": 3000.0}

    assert "persistent-workers" in ids(program(loading=waits))
    assert "persistent-workers" not in ids(program(loading={**waits, "in_process": True}))


def test_a_deeper_queue_is_for_workers_that_are_late_now_and_then():
    data = {"data": 0.3, "device-compute": 0.7}
    never = program("sync-bound", parts=data, loading={"in_process": False, "late_share": 0.0})
    always = program("sync-bound", parts=data, loading={"in_process": True, "late_share": 0.2})

    assert "prefetch-deeper" not in ids(never) | ids(always)


def test_empty_cache_is_removed_and_is_no_cure_for_fragmentation():
    thrown_away = program(allocations={"calls": 14.0, "frees": 7.0})
    growing = program(allocations={"calls": 3.0, "frees": 0.0}, mode={"shapes_vary": True})

    assert "remove-empty-cache" in ids(thrown_away)
    assert "allocator-settings" in ids(growing)
    assert not ids(growing) & {"remove-empty-cache", "preallocate"}


def test_allocator_settings_are_never_combined():
    rule = next(rule for rule in RULES if rule.id == "allocator-settings")

    assert "max_split_size_mb" not in rule.how.splitlines()[0]
    assert "alone" in rule.how
    assert "allocator-settings" in ids(program(live={"memory_stranded": 0.2}))
    assert "allocator-settings" not in ids(program(live={"memory_stranded": 0.01}))


def test_uncached_memory_is_a_switch_not_a_leak():
    allocations = {"calls": 400.0, "frees": 400.0}
    case = program(allocations=allocations, switches={"uncached_memory": True})
    keeps = program(allocations={"calls": 400.0, "frees": 0.0}, switches={"uncached_memory": True})

    assert "debug-switches" in ids(case)
    assert not ids(case) & {"remove-empty-cache", "preallocate", "allocator-settings"}
    assert "preallocate" not in ids(keeps)


def test_compiling_a_handful_of_operators_costs_more_in_guards():
    assert "compile-model" in ids(program("launch-bound", launches=400))
    assert "compile-model" not in ids(program("launch-bound", launches=4))
    assert "compile-model" not in ids(program("launch-bound", launches=None))


def test_compiling_is_for_chains_also_where_memory_is_the_limit():
    chains = program("memory-bound", origins={"elementwise_device": 0.7})
    none = program("memory-bound", origins={"elementwise_device": 0.01})

    assert "compile-model" in ids(chains)
    assert "compile-model" not in ids(none)


def test_guards_of_one_region_may_be_the_cost():
    guarded = {"compiled": True, "compiled_calls": 1.0, "guards": 0.4}

    assert "larger-graphs" in ids(program("python-bound", mode=guarded))
    assert "larger-graphs" not in ids(program("compute-bound", mode=guarded))
    assert "larger-graphs" not in ids(program("python-bound", mode={**guarded, "in_graphs": True}))


def test_a_graph_needs_fixed_shapes_and_no_waits():
    assert "cuda-graph" not in ids(program("launch-bound", mode={"shapes_vary": True}))
    by_value = program("launch-bound", syncs=(wait("data-dependent-shape", 60),))
    assert "cuda-graph" not in ids(by_value)
    assert "cuda-graph" not in ids(program("launch-bound", parts=SATURATED))
    reading = program("launch-bound", syncs=(wait("item", 2),))
    why = next(change.why for change in prescribe(reading) if change.id == "cuda-graph")
    assert "First remove its waits (2 times a step)" in why


def test_a_graph_would_no_longer_run_the_python_inside_the_step():
    case = program("python-bound", what_if={"no_submit_cost": 1.0})
    why = next(change.why for change in prescribe(case) if change.id == "cuda-graph")

    assert "no longer run" in why


def test_one_transposed_operand_alone_is_no_reason_for_a_copy():
    alone = {"fighting": 0.0, "fights": 0.0}

    assert "contiguous" not in ids(program("memory-bound", layout=alone))


def test_how_many_uses_a_copy_needs_is_said_where_it_is_known():
    def why(**layout):
        case = program("memory-bound", layout={"fighting": 0.5, "fights": 8.0, **layout})
        return next(change.why for change in prescribe(case) if change.id == "contiguous")

    assert "pays from 2.5 uses on" in why(pays_from=2.5)
    assert "depends on how often it is used" in why()


def test_streams_come_after_pinned_memory_and_for_copies_of_like_length():
    def copies(**uploads):
        uploads = {"pinned": 1.0, "pinned_ms": 4.0, "alone_share": 1.0, "pageable": 0.0, **uploads}
        return program("memory-bound", uploads=uploads, what_if={"overlap_copies": 6.0})

    assert "stream-overlap" in ids(copies())
    assert "stream-overlap" not in ids(copies(pageable=1.0, pageable_ms=4.0))
    assert "stream-overlap" not in ids(copies(pinned_ms=1.0))
    assert "stream-overlap" not in ids(copies(pinned_ms=0.1))


def test_small_pageable_copies_are_not_batches():
    few_bytes = program("sync-bound", uploads={"pageable": 4.0, "pageable_ms": 0.01})

    assert "pinned-copies" not in ids(few_bytes)


def test_fused_where_foreach_already_is_and_nothing_where_fused_is():
    assert "foreach-optimizer" not in ids(program(update={"kind": "foreach"}))
    assert "fused-optimizer" in ids(program(update={"kind": "foreach"}))
    assert not ids(program(update={"kind": "fused"})) & {"fused-optimizer", "foreach-optimizer"}
    assert "foreach-optimizer" in ids(program(update={"kind": "loop"}))


def test_an_optimizer_that_is_a_small_part_gains_little_however_slow_it_looks():
    case = program("compute-bound", update={"kind": "loop"}, what_if={"fused_optimizer": 9.9})

    assert "fused-optimizer" in ids(case) - paying(case)


def test_norms_are_merged_by_a_compiler_already():
    norms = {"by_hand": 49.0, "device_share": 0.15}

    assert "fused-norm" not in ids(program("memory-bound", norms=norms, mode={"compiled": True}))
    cheap = program("memory-bound", norms={"by_hand": 49.0, "device_share": 0.001})
    assert "fused-norm" not in ids(cheap)
    assert "fused-norm" in ids(program("launch-bound", norms={"by_hand": 49.0}))


def test_attention_without_recorded_sizes_is_named_without_them():
    case = program("memory-bound", attention={"by_hand": 0.5})
    why = next(change.why for change in prescribe(case) if change.id == "sdpa")

    assert "score matrix" not in why


def test_find_syncs_is_for_waits_of_unknown_place_that_cost():
    assert "find-syncs" not in ids(program("compute-bound", syncs=(wait("item"),)))


def test_a_cache_is_for_inference():
    training = program(
        "compute-bound", mode={"training": True}, attention={"recomputes_prefix": True}
    )

    assert "kv-cache" not in ids(training)


def how_of(identity, case):
    return next(change.how for change in prescribe(case) if change.id == identity)


def why_of(identity, case):
    return next(change.why for change in prescribe(case) if change.id == identity)


def test_a_mask_is_put_in_only_where_one_was_seen():
    def attention(**seen):
        return program("memory-bound", attention={"by_hand": 0.5, **seen})

    assert "is_causal" not in how_of("sdpa", attention())
    assert "is_causal" not in how_of("sdpa", attention(masked=False))
    assert "attn_mask=mask)" in how_of("sdpa", attention(masked=True))
    assert "A mask stands between" in why_of("sdpa", attention(masked=True))


@pytest.mark.parametrize(
    ("name", "forms"),
    [
        ("SGD", {"fused-optimizer", "foreach-optimizer"}),
        ("Adam", {"fused-optimizer", "foreach-optimizer"}),
        ("Adagrad", {"foreach-optimizer"}),
        ("FusedAdam", set()),
        (None, {"fused-optimizer", "foreach-optimizer"}),
    ],
)
def test_the_recorded_optimizer_is_the_one_that_is_changed(name, forms):
    case = program(update={"kind": "loop", "optimizer": name})
    changes = {change.id: change for change in prescribe(case)}

    assert {each for each in changes if each.endswith("optimizer")} == forms
    for form in forms:
        assert f"torch.optim.{name or 'AdamW'}(..., {form.removesuffix('-optimizer')}=True)" in (
            changes[form].how
        )


def test_an_optimizer_gains_no_more_than_updating_takes():
    update = {"kind": "loop", "host_share": 0.5, "device_share": 0.5}
    case = program("launch-bound", update=update)

    assert "at most 5 ms" in why_of("fused-optimizer", case)


def test_seldom_waits_are_removed_only_where_they_cost():
    def ids_of(cost):
        return ids(program("sync-bound", syncs=(wait("explicit-sync", 0.3, cost=cost),)))

    assert "remove-synchronize" not in ids_of(0.1) | ids_of(None)
    assert "remove-synchronize" in ids_of(1.0)


LATE = {"data": 0.8, "submission": 0.2}


def test_so_many_workers_that_they_keep_up():
    def loading(in_process, **live):
        return program(
            "sync-bound", parts=LATE, loading={"in_process": in_process}, live=live,
            what_if={"no_data_wait": 2.0},
        )  # fmt: skip

    assert "4 workers would keep up, cores permitting" in why_of("loader-workers", loading(True))
    assert "num_workers=4," in how_of("loader-workers", loading(True))
    assert "num_workers=4," in how_of("loader-workers", loading(None))
    assert "5 times as many workers would keep up (10 for 2)" in why_of(
        "loader-workers", loading(False)
    )
    assert "num_workers=ceil(5 * workers)," in how_of("loader-workers", loading(False))
    known = loading(False, workers=2, cores=64)
    assert "10 workers would keep up, on 64 cores" in why_of("loader-workers", known)
    assert "num_workers=10," in how_of("loader-workers", known)
    few = loading(False, workers=2, cores=8)
    assert "num_workers=8," in how_of("loader-workers", few)


@pytest.mark.parametrize(
    ("in_process", "workers", "offline"), [(True, 3.0, 2.0), (False, 2.0, 2.0), (None, 2.0, 2.0)]
)
def test_a_batch_of_workers_has_to_travel_one_that_was_stored_has_not(in_process, workers, offline):
    case = program(
        "sync-bound", parts=LATE, loading={"in_process": in_process}, what_if={"no_data_wait": 2.0}
    )
    found = {change.id: change for change in prescribe(case)}

    assert found["loader-workers"].predicted_ms == pytest.approx(workers)
    assert found["loader-workers"].low <= 2.0
    assert found["loader-workers"].high > workers - 0.01
    assert found["offline-preprocessing"].predicted_ms == pytest.approx(offline)


def test_without_a_replay_the_rest_of_the_step_is_what_is_left():
    assert "4 workers would keep up" in why_of("loader-workers", program("sync-bound", parts=LATE))
    nothing = program("sync-bound", parts={"data": 1.0})
    assert "keep up" not in why_of("loader-workers", nothing)
    assert "num_workers=4," in how_of("loader-workers", nothing)


def test_what_compiling_gains_beyond_its_chains_is_named():
    def why(**found):
        chains = {"elementwise_device": 0.1}
        return why_of("compile-model", program("memory-bound", origins=chains, **found))

    assert "the rest of the gain is host time" in why(what_if={"compile_fusion": 6.0})
    assert "0.95 ms of the step" in why(what_if={"compile_fusion": 6.0})
    assert "rest of the gain" not in why(what_if={"compile_fusion": 9.5})
    assert "rest of the gain" not in why()


@pytest.mark.parametrize(("training", "word"), [(True, "loss"), (None, "loss"), (False, "values")])
def test_readbacks_of_inference_are_not_of_a_loss(training, word):
    case = program("sync-bound", syncs=(wait("item", 1, 2.7),), mode={"training": training})

    assert word in how_of("fewer-readbacks", case)


def test_trials_of_algorithms_inside_of_steps_come_before_what_is_predicted_from_them():
    trying = {"convolutions": 0.5, "autotunes": True}
    case = program(
        "compute-bound", device="NVIDIA H200", layout=trying, precision={"fp32": 0.5},
        what_if={"tf32": 5.0},
    )  # fmt: skip
    first, *others = prescribe(case)

    assert first.id == "cudnn-benchmark-off"
    assert "tf32" in {change.id for change in others}


def test_the_most_a_change_can_gain_is_the_share_it_names():
    def at_most(identity, **signs):
        case = program("compute-bound", device="NVIDIA H200", **signs)
        return float(re.search(r"at most ([\d.]+) ms", why_of(identity, case))[1])

    images = {"precision": {"tf32": 0.6}}
    fixed = {"shapes_vary": False}
    assert at_most("pad-sizes", precision={"odd_sizes": 0.06}) == 0.57
    assert at_most("drop-checkpointing", mode={"recomputed": 0.05}) == 0.475
    assert at_most("channels-last", layout={"transposes": 0.18}, **images) == 1.71
    assert at_most("sdpa", attention={"by_hand": 0.5}) == 4.75
    assert at_most("contiguous", layout={"fighting": 0.5, "fights": 8.0}) == 4.75
    assert at_most("tf32", precision={"fp32": 0.5}) == 4.75
    convolutions = {"convolutions": 0.5, "autotunes": True}
    off = {"cudnn_benchmark": False}
    assert at_most("cudnn-benchmark", layout=convolutions, mode=fixed, live=off) == 4.75
    room = {"cudnn_benchmark": True, "memory_used": 0.1}
    assert at_most("cudnn-workspace", layout=convolutions, live=room) == 4.75
    hot = {"clock_share": 0.6, "clock_reasons": ("heat",)}
    assert at_most("full-clocks", live=hot) == 3.8


def test_on_the_host_the_most_is_a_share_of_launches_or_of_recorded_time():
    def at_most(identity, **signs):
        found = re.search(r"at most ([\d.]+) ms", why_of(identity, program(**signs)))
        return found and float(found[1])

    assert at_most("vectorize-loop", origins={"python_loop": 0.5}) == 4.0
    assert at_most("larger-graphs", mode={"compiled_calls": 1.0, "guards": 0.5}) == 4.0
    assert at_most("larger-graphs", mode={"compiled_calls": 9.0}) == 8.0
    by_hand = {"by_hand": 10.0, "device_share": 0.5}
    assert at_most("fused-norm", norms=by_hand) == 2.2
    assert at_most("fused-norm", norms=by_hand, launches=None) is None
    assert at_most("fused-norm", norms={"by_hand": 10.0}) is None
    small = {"small": 40.0}
    assert at_most("build-on-device", uploads=small) == 0.8
    copies = (wait("host-copy", 80),)
    waiting = {"sync": 0.5, "submission": 0.5}
    assert at_most("build-on-device", uploads=small, syncs=copies, parts=waiting) == 3.0
    assert at_most("build-on-device", uploads=small, launches=None) is None


def test_collections_gain_what_they_take():
    recorded = {"collections": 0.5, "collection_ms": 0.6}
    live = {"collections": 1.0, "collection_ms": 3.0}
    case = program("python-bound", switches=recorded)

    assert "at most 0.6 ms" in why_of("gc-schedule", case)
    assert "at most 3 ms" in why_of("gc-schedule", program("python-bound", live=live))


def test_a_fp16_device_is_offered_what_its_products_take():
    case = program("compute-bound", device="Tesla T4", precision={"fp32": 0.5})

    assert "at most 4.75 ms" in why_of("fp16", case)


def test_trials_of_unknown_convolutions_promise_nothing():
    live = {"cudnn_benchmark": True}
    case = program("compute-bound", mode={"shapes_vary": True}, live=live)

    assert "at most" not in why_of("cudnn-benchmark-off", case)


def test_collectives_without_device_time_are_counted():
    ranges = (RangeRow("nccl:all_reduce", 3.0, 0.1, 0.0), RangeRow("forward", 1.0, 5.0, 5.0))
    operators = (collective("c10d::allreduce_", 1.0), collective("c10d::alltoall_base_", 1.0))
    training = {"training": True}
    case = program("communication-bound", mode=training, ops=operators, ranges=ranges)

    assert "A step makes 3 collectives" in why_of("fewer-messages", case)
    assert "50% of what collectives take" in why_of("compress-gradients", case)
