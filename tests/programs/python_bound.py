"""Between the layers, settings are merged and sorted in Python."""

import torch
from common import DEVICE, arguments, finish, lasting, mlp, size

SETTINGS = {f"layer{i}.option{i % 7}": i for i in range(150)}


def choose(index):
    merged = {**SETTINGS, **{key.upper(): value + index for key, value in SETTINGS.items()}}
    ranked = sorted(merged.items(), key=lambda item: (-item[1], item[0]))  # planted
    return len([key for key, _ in ranked if key.startswith("LAYER1")])


def build(choosing: bool = True):
    model = mlp(256, size(8, 3))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    x = torch.randn(32, 256, device=DEVICE)

    def step():
        y = x
        for index, layer in enumerate(model):
            if choosing:
                choose(index)
            y = layer(y)
        y.square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()

    return step


if __name__ == "__main__":
    chosen = arguments(__doc__)
    step, goes_on = build(), lasting(chosen)
    while goes_on():
        step()
    finish(chosen, step, {"python": lambda: build(choosing=False)})
