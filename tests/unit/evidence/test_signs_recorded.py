"""Signs of programs whose habits are known."""

import pytest

from boundby.evidence.causes import find_causes
from boundby.evidence.signs import find_signs


@pytest.mark.parametrize(
    ("recording", "holds"),
    [
        ("pair_attention_by_hand", lambda s: s.attention.by_hand > 0.8),
        ("seed_block_batch8", lambda s: 0.1 < s.attention.by_hand < 0.3 and not s.attention.fused),
        ("pair_bert_base_train_b16", lambda s: s.attention.fused and s.attention.by_hand == 0),
        ("loop_optimizer", lambda s: s.update.kind == "loop" and s.origins.optimizer > 0.5),
        ("seed_block_batch8", lambda s: s.update.kind == "foreach" and s.mode.training),
        ("bf16_ffn_train", lambda s: s.update.kind == "fused"),
        ("pair_rnn_loop", lambda s: s.origins.python_loop > 0.9 and s.origins.loop_repeats == 256),
        ("seed_block_batch8", lambda s: s.origins.python_loop == 0),
        ("pair_item_each_layer", lambda s: s.origins.python_loop == 0),
        ("autocast_small_k", lambda s: s.origins.casts == 0.5 and s.origins.casts_device > 0.3),
        ("pair_pointwise_chain", lambda s: s.origins.elementwise_device > 0.7),
        ("pair_big_fp32_matmul", lambda s: s.precision.fp32 == 1),
        ("conv_resnet_block", lambda s: s.precision.tf32 > 0.6 and s.layout.transposes > 0.1),
        ("bf16_ffn_train", lambda s: s.precision.half > 0.8 and s.precision.fp32 == 0),
        ("pair_resnet50_train_b32", lambda s: not s.layout.autotunes and not s.layout.grouped),
        ("orthogonal_strides", lambda s: s.layout.fighting == 1 and s.layout.fights == 8),
        ("pair_pointwise_chain", lambda s: s.layout.fighting == 0),
        ("compiled_small", lambda s: s.mode.compiled and s.mode.compiled_calls == 1),
        ("cuda_graph_replay", lambda s: s.mode.in_graphs),
        ("small_batch_inference", lambda s: not s.mode.training and not s.mode.in_graphs),
        ("pair_pageable_h2d", lambda s: s.uploads.pageable == 1 and s.uploads.pageable_ms > 40),
        ("copy_compute_overlap", lambda s: s.uploads.pinned == 1 and s.uploads.alone_share < 0.1),
        ("loader_main_process", lambda s: s.loading.in_process and s.loading.late_share == 1),
        ("loader_two_slow_workers", lambda s: s.loading.in_process is False),
        ("empty_cache_every_step", lambda s: s.allocations.frees == 7),
        ("seed_block_batch8", lambda s: s.allocations.calls == 0),
        ("seed_block_batch8", lambda s: not s.switches.blocking_launches),
        ("seed_block_batch8", lambda s: s.switches.anomaly is False),
    ],
)
def test_a_recording_shows_its_habits(recorded, recording, holds):
    signs = find_signs(recorded(recording))

    assert holds(signs), signs


@pytest.mark.parametrize(
    ("recording", "bound", "cause"),
    [
        ("loop_optimizer", "launch-bound", "optimizer"),
        ("empty_cache_every_step", "launch-bound", "allocator"),
        ("pair_attention_by_hand", "memory-bound", "attention"),
        ("orthogonal_strides", "memory-bound", "layout"),
        ("matmul_fp32", "compute-bound", "precision"),
        ("conv_resnet_block", "compute-bound", "precision"),
        ("pair_pointwise_chain", "memory-bound", None),
        ("bf16_ffn_train", "compute-bound", None),
        ("compiled_small", "launch-bound", None),
        ("pair_rnn_loop", "launch-bound", None),
    ],
)
def test_its_cause_is_found(recorded, recording, bound, cause):
    assert find_causes(find_signs(recorded(recording)), ()).get(bound) == cause
