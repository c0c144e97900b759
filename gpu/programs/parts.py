"""Models, optimizers and steps that several programs share."""
# ruff: noqa: TID253 (torch is what is measured)

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from functools import partial

import torch
from programs.program import Step
from torch import Tensor, nn
from torch.nn import functional

DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")

Mode = Callable[[], AbstractContextManager[object]]
MakeOptimizer = Callable[[Iterable[Tensor]], torch.optim.Optimizer]

SGD = partial(torch.optim.SGD, lr=1e-3)
ADAMW = partial(torch.optim.AdamW, lr=1e-4)  # foreach, the default on CUDA
ADAMW_LOOP = partial(ADAMW, foreach=False)
ADAMW_FUSED = partial(ADAMW, fused=True)
ADAMW_CAPTURABLE = partial(ADAMW, capturable=True)
ADAMW_FUSED_CAPTURABLE = partial(ADAMW, fused=True, capturable=True)

BF16 = partial(torch.autocast, DEVICE.type, dtype=torch.bfloat16)
BF16_IN_GRAPH = partial(BF16, cache_enabled=False)  # cached casts would outlive the capture


def normal(*shape: int, dtype: torch.dtype = torch.float32) -> Tensor:
    """Random data on the device."""
    return torch.randn(*shape, device=DEVICE, dtype=dtype)


def labels(batch: int, classes: int = 10) -> Tensor:
    """Random classes on the device."""
    return torch.randint(0, classes, (batch,), device=DEVICE)


def mlp(width: int, depth: int, classes: int | None = None) -> nn.Sequential:
    """Linear layers with ReLU between them."""
    layers: list[nn.Module] = []
    for _ in range(depth - 1):
        layers += [nn.Linear(width, width), nn.ReLU()]
    return nn.Sequential(*layers, nn.Linear(width, classes or width)).to(DEVICE)


class Block(nn.Module):
    """A transformer block: norm first, fused attention."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.before_attention = nn.LayerNorm(width)
        self.before_mlp = nn.LayerNorm(width)
        self.qkv = nn.Linear(width, 3 * width)
        self.merge = nn.Linear(width, width)
        self.mlp = nn.Sequential(
            nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width)
        )

    def forward(self, x: Tensor) -> Tensor:
        """One block, of the same shape as its input."""
        batch, length, width = x.shape
        qkv = self.qkv(self.before_attention(x))
        q, k, v = (
            part.view(batch, length, self.heads, -1).transpose(1, 2) for part in qkv.chunk(3, -1)
        )
        attended = functional.scaled_dot_product_attention(q, k, v)
        x = x + self.merge(attended.transpose(1, 2).reshape(batch, length, width))
        return x + self.mlp(self.before_mlp(x))


def encoder(width: int, layers: int, heads: int = 6) -> nn.Sequential:
    """Transformer blocks."""
    return nn.Sequential(*(Block(width, heads) for _ in range(layers))).to(DEVICE)


def inferred(model: nn.Module, *inputs: Tensor, mode: Mode = torch.no_grad) -> Step:
    """A forward pass without gradients."""
    model.eval()

    def step() -> object:
        with mode():
            return model(*inputs)

    return step


def trained(
    model: nn.Module,
    loss_of: Callable[[], Tensor],
    make_optimizer: MakeOptimizer = SGD,
    autocast: Mode | None = None,
) -> Callable[[], Tensor]:
    """Forward, backward, optimizer."""
    optimizer = make_optimizer(model.parameters())

    def step() -> Tensor:
        optimizer.zero_grad()
        if autocast is None:
            loss = loss_of()
        else:
            with autocast():
                loss = loss_of()
        loss.backward()
        optimizer.step()
        return loss

    return step


def in_tf32(step: Step) -> Step:
    """The step with TF32 allowed in matrix products and convolutions, and not after it."""

    def fast() -> object:
        torch.backends.cuda.matmul.allow_tf32 = True
        result = step()
        torch.backends.cuda.matmul.allow_tf32 = False
        return result

    return fast
