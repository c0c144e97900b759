"""A small encoder answers one request at a time: no optimizer, no loader."""

import torch
from common import DEVICE, arguments, finish, graphed, lasting, size
from torch import nn


def build():
    layer = nn.TransformerEncoderLayer(256, 4, 512, batch_first=True, dropout=0.0)
    model = nn.TransformerEncoder(layer, size(6, 2), enable_nested_tensor=False)
    model = model.to(DEVICE).train()  # train: the fast path of eval hides the layers
    x = torch.randn(1, 32, 256, device=DEVICE)

    @torch.inference_mode()
    def step():
        return model(x)

    return step


if __name__ == "__main__":
    chosen = arguments(__doc__)
    step, goes_on = build(), lasting(chosen)
    while goes_on():
        step()
    finish(chosen, step, {"graph": lambda: graphed(build())})
