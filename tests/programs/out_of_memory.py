"""Keeps a gigabyte more at each step until there is no more: for a device only."""

import torch
from common import DEVICE, arguments, mlp

GIGABYTE = 1 << 30


def main():
    arguments(__doc__)
    model = mlp(64, 4)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    x, kept = torch.randn(16, 64, device=DEVICE), []
    while True:
        model(x).square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()
        kept.append(torch.empty(GIGABYTE, dtype=torch.uint8, device=DEVICE))  # planted


if __name__ == "__main__":
    main()
