"""Programs that train: optimizers, recurrences, several models, custom gradients."""
# ruff: noqa: TID253 (torch is what is measured)

from __future__ import annotations

from typing import Any

import torch
from programs.parts import (
    ADAMW,
    ADAMW_CAPTURABLE,
    ADAMW_FUSED,
    ADAMW_FUSED_CAPTURABLE,
    ADAMW_LOOP,
    BF16,
    BF16_IN_GRAPH,
    DEVICE,
    SGD,
    MakeOptimizer,
    Mode,
    encoder,
    in_tf32,
    labels,
    mlp,
    normal,
    trained,
)
from programs.program import Program, Step, batches
from torch import Tensor, nn
from torch.nn import functional
from torch.utils.checkpoint import checkpoint


def trained_mlp(*, batch: int = 64, depth: int = 6, make_optimizer: MakeOptimizer = SGD) -> Step:
    """Small linear layers that classify."""
    model = mlp(256, depth, classes=10)
    x, y = normal(batch, 256), labels(batch)
    return trained(model, lambda: functional.cross_entropy(model(x), y), make_optimizer)


def trained_convnet(*, batch: int = 8, make_optimizer: MakeOptimizer = SGD) -> Step:
    """Five convolutions with batch norm on images of 32 x 32 pixels."""
    layers: list[nn.Module] = []
    for inputs, outputs in ((3, 32), (32, 32), (32, 64), (64, 64), (64, 64)):
        layers += [nn.Conv2d(inputs, outputs, 3, padding=1), nn.BatchNorm2d(outputs), nn.ReLU()]
    model = nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 10))
    model.to(DEVICE)
    x, y = normal(batch, 3, 32, 32), labels(batch)
    return trained(model, lambda: functional.cross_entropy(model(x), y), make_optimizer)


def trained_encoder(
    *,
    batch: int = 2,
    size: tuple[int, int, int] = (384, 4, 128),
    autocast: Mode | None = None,
    make_optimizer: MakeOptimizer = ADAMW,
    tf32: bool = False,
) -> Step:
    """Transformer blocks; the size is width, layers, tokens."""
    width, layers, length = size
    model = encoder(width, layers)
    x, y = normal(batch, length, width), normal(batch, length, width)
    step = trained(model, lambda: functional.mse_loss(model(x), y), make_optimizer, autocast)
    return in_tf32(step) if tf32 else step


def lstm_cells(*, length: int = 24, at_once: bool = False) -> Step:
    """A recurrence, one cell call a token or the whole sequence in one call."""
    whole = nn.LSTM(128, 128).to(DEVICE)
    cell = nn.LSTMCell(128, 128).to(DEVICE)
    x = normal(length, 32, 128)

    def looped() -> Tensor:
        hidden, state = x.new_zeros(32, 128), x.new_zeros(32, 128)
        for token in x:
            hidden, state = cell(token, (hidden, state))
        return hidden.square().mean()

    if at_once:
        return trained(whole, lambda: whole(x)[0][-1].square().mean())
    return trained(cell, looped)


def lstm_whole(*, batch: int = 16) -> Step:
    """A recurrence of two layers over 64 tokens in one library call."""
    model = nn.LSTM(128, 128, num_layers=2, batch_first=True).to(DEVICE)
    x = normal(batch, 64, 128)
    return trained(model, lambda: model(x)[0].square().mean(), ADAMW)


def gan(*, make_optimizer: MakeOptimizer = ADAMW) -> Step:
    """A generator and a discriminator, each with its optimizer."""
    generator, judge = mlp(128, 4), mlp(128, 4, classes=1)
    for_generator = make_optimizer(generator.parameters())
    for_judge = make_optimizer(judge.parameters())
    real = normal(64, 128)
    one, zero = torch.ones(64, 1, device=DEVICE), torch.zeros(64, 1, device=DEVICE)
    loss_of = functional.binary_cross_entropy_with_logits

    def step() -> None:
        fake = generator(torch.randn(64, 128, device=DEVICE))
        for_judge.zero_grad()
        (loss_of(judge(real), one) + loss_of(judge(fake.detach()), zero)).backward()
        for_judge.step()
        for_generator.zero_grad()
        loss_of(judge(fake), one).backward()
        for_generator.step()

    return step


def accumulated(*, make_optimizer: MakeOptimizer = ADAMW) -> Step:
    """Four small batches a step of the optimizer."""
    model = mlp(256, 5, classes=10)
    optimizer = make_optimizer(model.parameters())
    parts = [(normal(16, 256), labels(16)) for _ in range(4)]

    def step() -> None:
        optimizer.zero_grad()
        for x, y in parts:
            (functional.cross_entropy(model(x), y) / len(parts)).backward()
        optimizer.step()

    return step


def checkpointed(*, batch: int = 2, recompute: bool = True) -> Step:
    """Transformer blocks whose activations are computed again in the backward pass."""
    model = encoder(384, 4)
    x = normal(batch, 128, 384)

    def loss_of() -> Tensor:
        y = x
        for block in model:
            if recompute:
                y = checkpoint(block, y, use_reentrant=False, preserve_rng_state=False)
            else:
                y = block(y)
        return y.square().mean()

    return trained(model, loss_of)


def recsys(*, tables: int = 30, one_table: bool = False) -> Step:
    """Many embedding tables in front of a small network, or one table with offsets."""
    rows, width, batch = 1000, 16, 256
    apart = nn.ModuleList(nn.Embedding(rows, width) for _ in range(tables)).to(DEVICE)
    joint = nn.Embedding(rows * tables, width).to(DEVICE)
    head = nn.Sequential(nn.Linear(tables * width, 128), nn.ReLU(), nn.Linear(128, 1)).to(DEVICE)
    ids = torch.randint(0, rows, (batch, tables), device=DEVICE)
    offsets = torch.arange(tables, device=DEVICE) * rows

    def looked_up() -> Tensor:
        if one_table:
            return joint(ids + offsets).flatten(1)
        return torch.cat([table(ids[:, i]) for i, table in enumerate(apart)], 1)

    model = nn.ModuleList([joint if one_table else apart, head])
    return trained(model, lambda: head(looked_up()).square().mean())


class Swish(torch.autograd.Function):
    """x sigmoid(x), with its gradient written by hand."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:  # noqa: ANN401 (torch's context has no public type)
        """The activation."""
        ctx.save_for_backward(x)
        return x * torch.sigmoid(x)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Tensor:  # noqa: ANN401
        """Its gradient."""
        (x,) = ctx.saved_tensors
        gate = torch.sigmoid(x)
        return gradient * gate * (1 + x * (1 - gate))


def custom_function(*, native: bool = False) -> Step:
    """An activation written as a custom function in Python, or torch's own."""
    layers = nn.ModuleList(nn.Linear(256, 256) for _ in range(8)).to(DEVICE)
    x = normal(64, 256)

    def loss_of() -> Tensor:
        y = x
        for layer in layers:
            y = functional.silu(layer(y)) if native else Swish.apply(layer(y))
        return y.square().mean()

    return trained(layers, loss_of)


def clipped(*, logging: bool = True, make_optimizer: MakeOptimizer = ADAMW) -> Step:
    """Clip the gradients and log the loss and their norm, as numbers or as tensors."""
    model = mlp(256, 6, classes=10)
    optimizer = make_optimizer(model.parameters())
    x, y = normal(64, 256), labels(64)
    log: dict[str, object] = {}

    def step() -> None:
        optimizer.zero_grad()
        loss = functional.cross_entropy(model(x), y)
        loss.backward()
        norm = nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        log["loss"] = loss.item() if logging else loss.detach()
        log["norm"] = norm.item() if logging else norm

    return step


FUSED = {"make_optimizer": ADAMW_FUSED}
FOREACH = {"make_optimizer": ADAMW}
CAPTURABLE = {"make_optimizer": ADAMW_CAPTURABLE}
BALANCED = {"batch": 4, "size": (768, 6, 256)}
"""Host and device about equally busy on an H200, in fp32."""

TABLE = (
    Program("train_mlp_sgd", trained_mlp, {}, {"no_launch": {}, **batches(64, 2, 8)}, stack=True),
    Program(
        "train_mlp_adamw",
        trained_mlp,
        {"make_optimizer": ADAMW},
        {"fused_optimizer": FUSED, "no_launch": CAPTURABLE},
        stack=True,
    ),
    Program(
        "train_mlp_adamw_loop",
        trained_mlp,
        {"make_optimizer": ADAMW_LOOP, "depth": 10},
        {"fused_optimizer": FUSED, "foreach_optimizer": FOREACH, "no_launch": CAPTURABLE},
        cause="optimizer",
        stack=True,
    ),
    Program(
        "train_mlp_adamw_fused",
        trained_mlp,
        {"make_optimizer": ADAMW_FUSED},
        {"no_launch": {"make_optimizer": ADAMW_FUSED_CAPTURABLE}},
    ),
    Program(
        "train_convnet_b8", trained_convnet, {}, {"no_launch": {}, **batches(8, 4)}, stack=True
    ),
    Program(
        "train_encoder_b2_fp32",
        trained_encoder,
        {},
        {
            "fused_optimizer": FUSED,
            "bf16": {"autocast": BF16},
            "no_launch": CAPTURABLE,
            **batches(2, 2, 4),
        },
    ),
    Program(
        "train_encoder_b2_bf16",
        trained_encoder,
        {"autocast": BF16},
        {"fused_optimizer": FUSED, "no_launch": {"autocast": BF16_IN_GRAPH, **CAPTURABLE}},
        stack=True,
    ),
    Program(
        "train_encoder_balanced",
        trained_encoder,
        BALANCED,
        {"bf16": {"autocast": BF16}, "tf32": {"tf32": True}, "fused_optimizer": FUSED},
    ),
    Program(
        "train_lstm_cells",
        lstm_cells,
        {},
        {"vectorized": {"at_once": True}, "no_launch": {}},
        stack=True,
    ),
    Program("train_lstm_whole", lstm_whole, {}, {**batches(16, 4)}),
    Program("train_gan", gan, {}, {"fused_optimizer": FUSED, "no_launch": CAPTURABLE}, stack=True),
    Program("train_accumulate_x4", accumulated, {}, {"no_launch": CAPTURABLE}),
    Program(
        "train_checkpointed",
        checkpointed,
        {},
        {"no_checkpoint": {"recompute": False}, "no_launch": {}},
        stack=True,
    ),
    Program(
        "train_recsys_30_tables",
        recsys,
        {},
        {"vectorized": {"one_table": True}, "no_launch": {}},
        stack=True,
    ),
    Program(
        "train_custom_function",
        custom_function,
        {},
        {"native_operator": {"native": True}, "no_launch": {}},
        stack=True,
    ),
    Program(
        "train_clip_and_log",
        clipped,
        {},
        {"no_sync": {"logging": False}, "fused_optimizer": FUSED},
        cause="item",
        stack=True,
    ),
)
