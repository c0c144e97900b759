"""Twelve Pre-LN blocks of width 512 with hand-written attention, batch 8: near balance in fp32."""

import math

import torch
from common import DEVICE, arguments, lasting, size
from torch import nn
from torch.nn import functional

HEADS = 8


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.before, self.between = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def attend(self, x):
        batch, length, width = x.shape
        parts = self.qkv(x).split(width, dim=-1)
        q, k, v = (p.view(batch, length, HEADS, -1).transpose(1, 2) for p in parts)
        weights = (q @ k.transpose(-2, -1) / math.sqrt(q.size(-1))).softmax(dim=-1)
        return self.out((weights @ v).transpose(1, 2).reshape(batch, length, width))

    def forward(self, x):
        x = x + self.attend(self.before(x))
        return x + self.down(functional.gelu(self.up(self.between(x))))


def main():
    chosen = arguments(__doc__)
    width, length = size(512, 32), size(512, 16)
    model = nn.Sequential(*[Block(width) for _ in range(size(12, 2))]).to(DEVICE)
    optimizer = torch.optim.AdamW(model.parameters())
    x = torch.randn(8, length, width, device=DEVICE)
    low = chosen.twin == "bf16"
    goes_on = lasting(chosen)
    while goes_on():
        with torch.autocast(DEVICE, torch.bfloat16, enabled=low):
            y = model(x)
        y.float().square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()


if __name__ == "__main__":
    main()
