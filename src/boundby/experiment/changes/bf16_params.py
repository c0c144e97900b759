"""bfloat16 parameters for forward and backward, float32 masters and state for the optimizer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from boundby.bench.framework import torch
from boundby.experiment.change import Answers, Change
from boundby.experiment.values import Configuration, Facts, value_of
from boundby.prescribe.rule import Risk

if TYPE_CHECKING:
    from boundby.experiment.build import Build


def values(facts: Facts, configuration: Configuration) -> tuple[str, ...]:
    """After autocast was found right, the program's own or ours: the same, without casts."""
    return ("fp32-masters",) if facts.trains and follows_autocast(facts, configuration) else ()


def follows_autocast(facts: Facts, configuration: Configuration) -> bool:
    """Whether bfloat16 is in force, by casts of float32 parameters; complex ones have no such."""
    own = facts.computes == "bfloat16" and "float32" in facts.dtypes
    is_complex = any(each.startswith("complex") for each in facts.dtypes)
    taken = is_complex or any(
        value_of(configuration, name) for name in ("bf16-params", "bf16-weights")
    )
    return not taken and (own or value_of(configuration, "bf16") == "autocast")


def apply(build: Build, value: str) -> None:
    """Keep the float32 parameters as masters, and give the model bfloat16 ones."""
    del value
    build.masters = [
        each.detach().float().clone().requires_grad_() for each in build.model.parameters()
    ]
    narrow(build)


def narrow(build: Build) -> None:
    """bfloat16 parameters and inputs; norms with running statistics compute in float32."""
    build.input_dtype = torch().bfloat16
    for module in build.model.modules():
        if getattr(module, "running_mean", None) is None:
            for each in module.parameters(recurse=False):
                each.data = each.data.to(torch().bfloat16)


NARROW = """\
for module in model.modules():
    if getattr(module, "running_mean", None) is None:   # norms with running statistics keep float32
        for p in module.parameters(recurse=False):
            p.data = p.data.to(torch.bfloat16)
# in the step: floating-point inputs in bfloat16, outputs in float32 for the loss
outputs = model(x.to(torch.bfloat16)).float()"""
"""The code of ``narrow`` and of what goes in and out."""
PATCH = f"""\
masters = [p.detach().clone().requires_grad_() for p in model.parameters()]  # float32
optimizer = AdamW(masters, ...)
{NARROW}
# after loss.backward()
for master, p in zip(masters, model.parameters()):
    master.grad = p.grad.float()           # or torch._foreach_copy_ into kept buffers
optimizer.step()
with torch.no_grad():
    torch._foreach_copy_(list(model.parameters()), masters)
model.zero_grad(set_to_none=True)"""

CHANGE = Change(
    id="bf16-params",
    title="bf16 parameters, fp32 masters",
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
    precision="bf16 parameters",
    replaces=("bf16", "fp16"),
    patch=lambda _: PATCH,
)
