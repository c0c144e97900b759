"""float16 autocast with a scaled loss: where there is no bfloat16, or where it was not right."""

from __future__ import annotations

from typing import TYPE_CHECKING

from boundby.bench.framework import torch
from boundby.experiment.change import Answers, Change
from boundby.experiment.values import Configuration, Facts, value_of
from boundby.prescribe.rule import Risk

if TYPE_CHECKING:
    from boundby.experiment.build import Build

VOLTA = 7.0
LOWER = ("bf16", "bf16-params", "bf16-weights")


def values(facts: Facts, configuration: Configuration) -> tuple[str, ...]:
    """Autocast, on a device whose matrix units take float16."""
    able = facts.capability is not None and facts.capability >= VOLTA
    lower = any(value_of(configuration, name) for name in LOWER)
    return ("autocast",) if able and not lower and facts.is_wide else ()


def apply(build: Build, value: str) -> None:
    """Autocast around the model, and a scaler where it trains."""
    del value
    build.around.append(lambda: torch().autocast(build.device, torch().float16))
    build.scaler = hasattr(build.workload, "optimizer")


PATCH = """\
scaler = torch.amp.GradScaler("cuda")
with torch.autocast("cuda", dtype=torch.float16):
    outputs = model(*inputs)
scaler.scale(criterion(outputs.float(), target)).backward()
scaler.step(optimizer)
scaler.update()"""

CHANGE = Change(
    id="fp16",
    title="fp16 autocast with a scaled loss",
    prescription="fp16",
    allow="numerics",
    risk=Risk.NUMERICS,
    stage="model",
    answers=Answers(
        saves=("compute", "traffic"),
        memory="less: activations halve",
        numerics="yes: products keep 11 bits, small gradients may vanish without the scaler",
    ),
    values=values,
    prior=lambda _, __: 0.4,
    apply=apply,
    precision="float16",
    replaces=LOWER,
    stands_in_for="bf16",
    patch=lambda _: PATCH,
)
