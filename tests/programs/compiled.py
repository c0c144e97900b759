"""A compiled network with large matrix products in bf16."""

import torch
from common import CUDA, DEVICE, arguments, lasting, mlp, size


def main():
    chosen = arguments(__doc__)
    width = size(4096, 32)
    model = mlp(width, size(4, 2)).to(torch.bfloat16 if CUDA else torch.float32)
    compiled = torch.compile(model, backend="inductor" if CUDA else "eager")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    x = torch.randn(size(8192, 8), width, device=DEVICE, dtype=next(model.parameters()).dtype)

    def step():
        compiled(x).square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()

    step()  # compiles
    goes_on = lasting(chosen)
    while goes_on():
        step()
    print("frames", torch._dynamo.utils.counters["frames"]["ok"])


if __name__ == "__main__":
    main()
