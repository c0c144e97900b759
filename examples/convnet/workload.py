"""A residual convolutional network on images of 128 x 128, trained with SGD in float32.

A workload for ``boundby tune``. ``WIDTH=8 SIDE=32`` in the environment make it small.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

WIDTH = int(os.environ.get("WIDTH", "64"))
SIDE = int(os.environ.get("SIDE", "128"))
CLASSES = 100


class Residual(nn.Module):
    """Two convolutions with their norms, around them a shortcut."""

    def __init__(self, inputs: int, outputs: int, stride: int) -> None:
        super().__init__()
        self.first = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False)
        self.second = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False)
        self.norm1, self.norm2 = nn.BatchNorm2d(outputs), nn.BatchNorm2d(outputs)
        self.shortcut: nn.Module = nn.Identity()
        if stride > 1 or inputs != outputs:
            self.shortcut = nn.Sequential(
                nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs)
            )

    def forward(self, x: Tensor) -> Tensor:
        """Images to images, half the size where the stride is 2."""
        y = functional.relu(self.norm1(self.first(x)))
        return functional.relu(self.norm2(self.second(y)) + self.shortcut(x))


def network() -> nn.Module:
    """A stem, four stages of two blocks, a classifier."""
    stages = [nn.Conv2d(3, WIDTH, 7, 2, 3, bias=False), nn.BatchNorm2d(WIDTH), nn.ReLU()]
    inputs = WIDTH
    for stage in range(4):
        outputs = WIDTH << stage
        stages += [Residual(inputs, outputs, 2 if stage else 1), Residual(outputs, outputs, 1)]
        inputs = outputs
    return nn.Sequential(*stages, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(inputs, CLASSES))


class Workload:
    """What ``boundby tune`` asks for; see docs/tune.md."""

    batch_size = int(os.environ.get("BATCH", "32"))

    def model(self) -> nn.Module:
        """Fresh weights; the seed was set before."""
        return network()

    def optimizer(self, parameters: Iterable[Tensor], **options: Any) -> torch.optim.Optimizer:
        """``options`` holds what a change asks for: fused, foreach."""
        return torch.optim.SGD(parameters, lr=0.05, momentum=0.9, **options)

    def batch(self, size: int) -> tuple[Tensor, Tensor]:
        """Images and labels on the CPU; they are moved."""
        return torch.randn(size, 3, SIDE, SIDE), torch.randint(CLASSES, (size,))

    def loss(self, model: Callable[..., Tensor], batch: tuple[Tensor, Tensor]) -> Tensor:
        """Cross entropy, in float32 whatever the model computes in."""
        images, labels = batch
        return functional.cross_entropy(model(images), labels)
