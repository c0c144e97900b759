"""The catalogue: one change a file, listed here in the method's order."""

from __future__ import annotations

from boundby.prescribe.catalogue import (
    bf16,
    compile_model,
    cuda_graph,
    fewer_readbacks,
    foreach_optimizer,
    fused_optimizer,
    larger_batch,
    loader_workers,
    pinned_copies,
    remove_synchronize,
    sdpa,
    tf32,
    vectorize_loop,
    work_out_of_loop,
)
from boundby.prescribe.rule import Rule

RULES: tuple[Rule, ...] = (
    loader_workers.RULE,
    work_out_of_loop.RULE,
    fewer_readbacks.RULE,
    remove_synchronize.RULE,
    pinned_copies.RULE,
    larger_batch.RULE,
    fused_optimizer.RULE,
    foreach_optimizer.RULE,
    sdpa.RULE,
    compile_model.RULE,
    vectorize_loop.RULE,
    tf32.RULE,
    bf16.RULE,
    cuda_graph.RULE,
)
