"""bfloat16 parameters for forward and backward; float32 masters and state for an optimizer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from boundby.bench.framework import torch
from boundby.experiment.change import Answers, Change
from boundby.experiment.values import Configuration, Facts, value_of
from boundby.prescribe.rule import Risk

if TYPE_CHECKING:
    from boundby.experiment.build import Build


MASTERS, WEIGHTS = "fp32-masters", "weights"
"""For training, whose updates would be lost in bfloat16; and for inference, which has none."""


def values(facts: Facts, configuration: Configuration) -> tuple[str, ...]:
    """After autocast was found right, the program's own or ours: the same, without casts."""
    own = facts.computes == "bfloat16" and "float32" in facts.dtypes
    taken = value_of(configuration, "bf16-params")
    after = own or value_of(configuration, "bf16") == "autocast"
    if not after or taken:
        return ()
    return (MASTERS,) if facts.trains else (WEIGHTS,)


def apply(build: Build, value: str) -> None:
    """Give the model bfloat16 parameters; for training, keep the float32 ones as masters."""
    build.input_dtype = torch().bfloat16
    if value == MASTERS:
        build.masters = [
            each.detach().float().clone().requires_grad_() for each in build.model.parameters()
        ]
    for module in build.model.modules():
        if getattr(module, "running_mean", None) is not None:
            continue  # norms with running statistics compute in float32
        for each in module.parameters(recurse=False):
            each.data = each.data.to(torch().bfloat16)


MASTERS_PATCH = """\
masters = [p.detach().clone().requires_grad_() for p in model.parameters()]  # float32
model.to(torch.bfloat16)
optimizer = AdamW(masters, ...)
# in the step: loss.backward(), then
for master, p in zip(masters, model.parameters()):
    master.grad = p.grad.float()           # or torch._foreach_copy_ into kept buffers
optimizer.step()
with torch.no_grad():
    torch._foreach_copy_(list(model.parameters()), masters)
model.zero_grad(set_to_none=True)"""
WEIGHTS_PATCH = "model.to(torch.bfloat16)   # norms with running statistics stay in float32"
PATCHES = {MASTERS: MASTERS_PATCH, WEIGHTS: WEIGHTS_PATCH}

CHANGE = Change(
    id="bf16-params",
    title="bf16 parameters",
    prescription="bf16",
    allow="numerics",
    risk=Risk.NUMERICS,
    stage="model",
    answers=Answers(
        saves=("traffic", "launch"),
        memory="about the same: bf16 parameters and gradients beside float32 masters",
        numerics="yes: as autocast, and norms in bf16 too; updates are made in float32",
    ),
    values=values,
    prior=lambda _, __: 0.08,
    apply=apply,
    precision="bfloat16",
    replaces=("bf16", "fp16"),
    patch=lambda value: PATCHES[value],
)
