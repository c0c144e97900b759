"""After each layer, the size of its output is read on the host."""

import torch
from common import DEVICE, arguments, finish, lasting, mlp, size


def build(reading: bool = True):
    width = size(1536, 64)
    model = mlp(width, size(10, 4))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    x = torch.randn(size(1024, 16), width, device=DEVICE)
    largest = [0.0]

    def step():
        y = x
        for layer in model:
            y = layer(y)
            norm = y.detach().abs().mean()
            if reading:
                largest[0] = max(largest[0], norm.item())  # planted
        y.square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()

    return step


if __name__ == "__main__":
    chosen = arguments(__doc__)
    step, goes_on = build(), lasting(chosen)
    while goes_on():
        step()
    finish(chosen, step, {"sync": lambda: build(reading=False)})
