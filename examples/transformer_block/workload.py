"""Twelve pre-norm transformer blocks with attention written out, trained with AdamW.

A workload for ``boundby tune``: width 512, 8 heads, sequences of 512, batch 8 at the start. The
sizes can be made smaller by variables of the environment, so that it also runs on a CPU:
``BLOCKS=2 WIDTH=64 SEQUENCE=32 boundby tune examples/transformer_block/workload.py:Workload``.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor, nn

BLOCKS = int(os.environ.get("BLOCKS", "12"))
WIDTH = int(os.environ.get("WIDTH", "512"))
HEADS = int(os.environ.get("HEADS", "8"))
SEQUENCE = int(os.environ.get("SEQUENCE", "512"))

Core = Callable[[Tensor, Tensor, Tensor], Tensor]


def written_out(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """Attention as its formula says: the score matrix is written to memory and read again."""
    scores = torch.matmul(q, k.transpose(-1, -2)) * q.shape[-1] ** -0.5
    return torch.matmul(torch.softmax(scores, dim=-1), v)


class Attention(nn.Module):
    """Self-attention over all positions."""

    def __init__(self) -> None:
        super().__init__()
        self.to_qkv = nn.Linear(WIDTH, 3 * WIDTH)
        self.out = nn.Linear(WIDTH, WIDTH)
        self.core: Core = written_out

    def forward(self, x: Tensor) -> Tensor:
        """Tokens of shape (batch, sequence, width) to the same shape."""
        batch, length, _ = x.shape
        packed = self.to_qkv(x).reshape(batch, length, 3, HEADS, WIDTH // HEADS)
        q, k, v = packed.permute(2, 0, 3, 1, 4)
        mixed = self.core(q, k, v)
        return self.out(mixed.transpose(1, 2).reshape(batch, length, WIDTH))


class Block(nn.Module):
    """Attention, then two linear layers, each behind a norm and around a residual."""

    def __init__(self) -> None:
        super().__init__()
        self.norm_attention, self.norm_mlp = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.attention = Attention()
        self.mlp = nn.Sequential(
            nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH)
        )

    def forward(self, x: Tensor) -> Tensor:
        """Tokens to tokens."""
        x = x + self.attention(self.norm_attention(x))
        return x + self.mlp(self.norm_mlp(x))


class Workload:
    """What ``boundby tune`` asks for; see docs/tune.md."""

    batch_size = int(os.environ.get("BATCH", "8"))

    def model(self) -> nn.Module:
        """Fresh weights; the seed was set before."""
        return nn.Sequential(*[Block() for _ in range(BLOCKS)])

    def optimizer(self, parameters: Iterable[Tensor], **options: Any) -> torch.optim.Optimizer:
        """``options`` holds what a change asks for: fused, foreach, capturable."""
        return torch.optim.AdamW(parameters, lr=1e-3, **options)

    def batch(self, size: int) -> tuple[Tensor]:
        """Tensors on the CPU; they are moved."""
        return (torch.randn(size, SEQUENCE, WIDTH),)

    def loss(self, model: Callable[..., Tensor], batch: tuple[Tensor]) -> Tensor:
        """A number for each batch."""
        return model(*batch).square().mean()

    def attention(self, model: nn.Module, core: Core) -> None:
        """Optional: put another attention function into the model."""
        for module in model.modules():
            if isinstance(module, Attention):
                module.core = core


class InBf16(Workload):
    """The same program, with its forward pass in bfloat16 already."""

    def loss(self, model: Callable[..., Tensor], batch: tuple[Tensor]) -> Tensor:
        """As above, under autocast."""
        with torch.autocast(batch[0].device.type, torch.bfloat16):
            outputs = model(*batch)
        return outputs.float().square().mean()
