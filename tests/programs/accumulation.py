"""Four micro-batches to an update, of a network that mostly moves memory."""

import torch
from common import DEVICE, arguments, lasting, size
from torch import nn

MICRO_BATCHES = 4


class Gates(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.scale, self.shift = nn.Parameter(torch.ones(width)), nn.Parameter(torch.zeros(width))
        self.norm = nn.LayerNorm(width)

    def forward(self, x):
        return torch.sigmoid(self.norm(x) * self.scale + self.shift) * x + x.tanh()


def main():
    chosen = arguments(__doc__)
    width = size(2048, 32)
    model = nn.Sequential(*[Gates(width) for _ in range(3)]).to(DEVICE)
    optimizer = torch.optim.AdamW(model.parameters())
    batches = torch.randn(MICRO_BATCHES, size(16384, 8), width, device=DEVICE)
    goes_on = lasting(chosen)
    while goes_on():
        for batch in batches:
            (model(batch).square().mean() / MICRO_BATCHES).backward()
        optimizer.step()
        optimizer.zero_grad()


if __name__ == "__main__":
    main()
