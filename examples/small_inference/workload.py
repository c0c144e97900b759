"""A text encoder that answers one request at a time: six layers, 64 tokens, float32.

A workload for ``boundby tune``: without an optimizer it is inference. ``LAYERS=2 WIDTH=32`` in the
environment make it small.
"""

from __future__ import annotations

import os
from collections.abc import Callable

import torch
from torch import Tensor, nn

LAYERS = int(os.environ.get("LAYERS", "6"))
WIDTH = int(os.environ.get("WIDTH", "384"))
TOKENS, WORDS = 64, 8192


class Encoder(nn.Module):
    """Word and position embeddings, transformer layers, the mean of all positions."""

    def __init__(self) -> None:
        super().__init__()
        self.words, self.positions = nn.Embedding(WORDS, WIDTH), nn.Embedding(TOKENS, WIDTH)
        layer = nn.TransformerEncoderLayer(
            WIDTH, WIDTH // 32, 4 * WIDTH, activation="gelu", batch_first=True, norm_first=True
        )
        self.layers = nn.TransformerEncoder(layer, LAYERS, enable_nested_tensor=False)
        self.norm = nn.LayerNorm(WIDTH)

    def forward(self, words: Tensor) -> Tensor:
        """Ids of shape (batch, 64) to vectors of shape (batch, width)."""
        places = torch.arange(words.shape[1], device=words.device)
        x = self.words(words) + self.positions(places)
        return self.norm(self.layers(x)).mean(1)


class Workload:
    """What ``boundby tune`` asks for; see docs/tune.md."""

    batch_size = 1

    def model(self) -> nn.Module:
        """Fresh weights, as they are at inference."""
        return Encoder().eval()

    def batch(self, size: int) -> tuple[Tensor]:
        """Requests."""
        return (torch.randint(WORDS, (size, TOKENS)),)

    def loss(self, model: Callable[..., Tensor], batch: tuple[Tensor]) -> Tensor:
        """The outputs: there is no optimizer."""
        return model(*batch)
