"""Activations computed again, to make room for a batch that pays."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from boundby.bench.framework import torch, torch_module
from boundby.experiment.build import repeated_blocks
from boundby.experiment.change import Answers, Change
from boundby.experiment.values import Configuration, Facts, value_of
from boundby.prescribe.rule import Risk

if TYPE_CHECKING:
    from boundby.experiment.build import Build

CHOICES = ("selective", "blocks")
"""The one that computes less again first."""
KEPT = (
    "mm",
    "addmm",
    "bmm",
    "_scaled_dot_product_flash_attention",
    "_scaled_dot_product_efficient_attention",
    "_scaled_dot_product_cudnn_attention",
)
"""Operators whose results are kept in the selective form: the dear ones."""


def values(facts: Facts, configuration: Configuration) -> tuple[str, ...]:
    """Training of repeated blocks; the search asks for it where memory ends a batch."""
    has_blocks = facts.trains and facts.blocks > 1
    return CHOICES if has_blocks and not value_of(configuration, "checkpointing") else ()


def apply(build: Build, value: str) -> None:
    """Wrap the forward of every block."""
    checkpoint_blocks(build.workload, build.model, value)


def checkpoint_blocks(workload: Any, model: Any, value: str) -> None:  # noqa: ANN401 -- a module
    """Compute the blocks of a model again in the backward pass: all of it, or what is cheap."""
    module = torch_module("utils.checkpoint")
    options: dict[str, Any] = {"use_reentrant": False}
    if value == "selective":
        aten = torch().ops.aten
        kept = [getattr(aten, name).default for name in KEPT if hasattr(aten, name)]
        make = module.create_selective_checkpoint_contexts
        options["context_fn"] = partial(make, kept)
    for block in repeated_blocks(workload, model):
        block.forward = partial(module.checkpoint, block.forward, **options)


def patch(value: str) -> str:
    """The code."""
    call = "x = checkpoint(block, x, use_reentrant=False)"
    if value == "blocks":
        return f"from torch.utils.checkpoint import checkpoint\n{call}"
    names = ", ".join(f"torch.ops.aten.{name}.default" for name in KEPT[:3])
    return (
        "from torch.utils.checkpoint import checkpoint, create_selective_checkpoint_contexts\n"
        f"keep = functools.partial(create_selective_checkpoint_contexts, [{names}])\n"
        "x = checkpoint(block, x, use_reentrant=False, context_fn=keep)"
    )


CHANGE = Change(
    id="checkpointing",
    title="checkpointed blocks and a larger batch",
    prescription="checkpointing",
    allow="batch",
    risk=Risk.SHAPES,
    stage="model",
    answers=Answers(
        saves=("launch",),
        memory="activations of a few layers alone: less for each sample",
        numerics="as a larger batch",
        shapes="yes: this batch size",
    ),
    values=values,
    prior=lambda _, __: 0.1,
    apply=apply,
    saves=lambda _: ("launch",),
    patch=patch,
)
