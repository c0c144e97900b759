"""Programs that torch.compile has already been applied to: few operators, each of them dear."""
# ruff: noqa: TID253 (torch is what is measured)

from __future__ import annotations

import torch
from programs.parts import SGD, encoder, inferred, labels, mlp, normal, trained
from programs.program import Program, Step
from torch import Tensor
from torch.nn import functional

COMPILE_S = 60.0


def compiled_mlp(*, batch: int = 64) -> Step:
    """Small linear layers that learn."""
    model = mlp(256, 6, classes=10)
    run = torch.compile(model)
    x, y = normal(batch, 256), labels(batch)
    return trained(model, lambda: functional.cross_entropy(run(x), y), SGD)


def compiled_encoder(*, how: str = "default") -> Step:
    """Four transformer blocks that infer."""
    return inferred(torch.compile(encoder(384, 4), mode=how), normal(1, 128, 384))


def compiled_chains(*, chains: int = 12) -> Step:
    """Several compiled regions a step, each one kernel."""
    x = normal(64, 1024)
    weight = normal(1024, 1024) * 0.03

    @torch.compile
    def region(y: Tensor, bias: Tensor) -> Tensor:
        return torch.tanh(functional.gelu(y + bias) * 0.5 + bias.sigmoid())

    def step() -> Tensor:
        y = x
        with torch.no_grad():
            for _ in range(chains):
                y = region(y @ weight, x)
        return y

    return step


TABLE = (
    Program(
        "compiled_mlp_train", compiled_mlp, {}, {"no_launch": {}}, stack=True, limit_s=COMPILE_S
    ),
    Program(
        "compiled_encoder",
        compiled_encoder,
        {},
        {"no_launch": {}, "reduce_overhead": {"how": "reduce-overhead"}},
        stack=True,
        limit_s=COMPILE_S,
    ),
    Program("compiled_chains", compiled_chains, {}, {"no_launch": {}}, limit_s=COMPILE_S),
    Program(
        "compiled_encoder_reduce_overhead",
        compiled_encoder,
        {"how": "reduce-overhead"},
        limit_s=COMPILE_S,
    ),
)
