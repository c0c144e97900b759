"""The catalogue: one change a file, listed here in the order that decides between like gains."""

from __future__ import annotations

from boundby.errors import UsageError
from boundby.experiment.change import Change
from boundby.experiment.changes import (
    allocator_settings,
    bf16,
    bf16_params,
    bf16_weights,
    channels_last,
    checkpointing,
    compile_model,
    cuda_graph,
    cudnn_benchmark,
    fewer_readbacks,
    foreach_optimizer,
    fp16,
    fused_norm,
    fused_optimizer,
    gc_schedule,
    inference_mode,
    larger_batch,
    loader_workers,
    pinned_copies,
    sdpa,
    tf32,
    thread_limit,
)

CHANGES: tuple[Change, ...] = (
    thread_limit.CHANGE,
    loader_workers.CHANGE,
    pinned_copies.CHANGE,
    fewer_readbacks.CHANGE,
    inference_mode.CHANGE,
    larger_batch.CHANGE,
    bf16.CHANGE,
    tf32.CHANGE,
    fp16.CHANGE,
    sdpa.CHANGE,
    fused_optimizer.CHANGE,
    foreach_optimizer.CHANGE,
    compile_model.CHANGE,
    fused_norm.CHANGE,
    channels_last.CHANGE,
    cudnn_benchmark.CHANGE,
    bf16_params.CHANGE,
    bf16_weights.CHANGE,
    cuda_graph.CHANGE,
    checkpointing.CHANGE,
    allocator_settings.CHANGE,
    gc_schedule.CHANGE,
)

BY_ID = {change.id: change for change in CHANGES}


def named(ids: tuple[str, ...]) -> tuple[Change, ...]:
    """Changes of these ids.

    Raises:
        UsageError: There is no such change.
    """
    unknown = [each for each in ids if each not in BY_ID]
    if unknown:
        raise UsageError(f"no change {unknown[0]!r}", f"one of {', '.join(BY_ID)}")
    return tuple(BY_ID[each] for each in ids)
