"""Many small layers train on a small batch: the host launches, the device waits."""

import torch
from common import CUDA, DEVICE, arguments, finish, graphed, lasting, mlp, size


def build():
    model = mlp(64, size(24, 6))
    optimizer = torch.optim.AdamW(model.parameters(), capturable=CUDA)
    x = torch.randn(16, 64, device=DEVICE)

    def step():
        optimizer.zero_grad()
        loss = model(x).square().mean()
        loss.backward()
        optimizer.step()
        return loss.detach()

    return step


if __name__ == "__main__":
    chosen = arguments(__doc__)
    step, goes_on = build(), lasting(chosen)
    losses = []
    while goes_on():
        losses.append(step())
    if chosen.losses:
        chosen.losses.write_text(repr([loss.item() for loss in losses]), "utf-8")
    finish(chosen, step, {"graph": lambda: graphed(build())})
