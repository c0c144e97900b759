"""A step that waits for its host, for ``boundby tune``.

Batches of images come from a DataLoader in the same process and from pageable memory, norms are
written out, the loss is read in every step. ``WIDTH=32 SIDE=16`` in the environment make it small.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, Dataset

WIDTH = int(os.environ.get("WIDTH", "512"))
SIDE = int(os.environ.get("SIDE", "64"))
LAYERS, SAMPLES = 8, 8192


class HandNorm(nn.Module):
    """Root mean square over the last dimension, written out: five kernels for one."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.weight, self.eps = nn.Parameter(torch.ones(width)), 1e-6

    def forward(self, x: Tensor) -> Tensor:
        """Same shape."""
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps) * self.weight


class Images(Dataset[Tensor]):
    """Noise that is augmented in Python, one image after the other."""

    def __len__(self) -> int:
        return SAMPLES

    def __getitem__(self, index: int) -> Tensor:
        """Float32 of shape (3, SIDE, SIDE)."""
        image = torch.randn(3, SIDE, SIDE, generator=torch.Generator().manual_seed(index))
        return (image.flip(-1) if index % 2 else image).clamp(-2, 2)


class Workload:
    """What ``boundby tune`` asks for; see docs/tune.md."""

    batch_size = 64

    def model(self) -> nn.Module:
        """A patch embedding and layers with norms of its own."""
        layers: list[nn.Module] = [nn.Flatten(), nn.Linear(3 * SIDE * SIDE, WIDTH)]
        for _ in range(LAYERS):
            layers += [HandNorm(WIDTH), nn.Linear(WIDTH, WIDTH), nn.GELU()]
        return nn.Sequential(*layers, nn.Linear(WIDTH, 10))

    def optimizer(self, parameters: Iterator[nn.Parameter], **options: Any) -> Any:
        """AdamW; ``options`` hold what a change asks for."""
        return torch.optim.AdamW(parameters, lr=1e-3, **options)

    def batch(self, size: int) -> tuple[Tensor]:
        """The first images."""
        return (torch.stack([Images()[index] for index in range(size)]),)

    def loader(self, size: int, **options: Any) -> DataLoader[Tensor]:
        """The same images in order; ``options`` hold workers and pinning."""
        return DataLoader(Images(), size, **options)

    def loss(self, model: Callable[..., Tensor], batch: Any) -> Tensor:
        """Mean of the squared outputs."""
        images = batch[0] if isinstance(batch, list | tuple) else batch
        return model(images).square().mean()

    def log(self, loss: Tensor) -> None:
        """Read in every step, as a progress bar does."""
        float(loss)
