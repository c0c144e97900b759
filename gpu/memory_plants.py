"""Programs with one cause of memory trouble each: ordinary scripts, nothing in them knows boundby.

``python gpu/memory_plants.py NAME`` runs one. The line that ends in ``# planted`` is the culprit.
Needs a CUDA device.
"""
# ruff: noqa: ANN401 (torch is handed around)

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterator
from typing import Any

MIB, GIB = 1 << 20, 1 << 30
PLANT = "# planted"
STEPS = 200
"""Enough for every pass of an observation, few enough for the leaks to fit in 16 GiB."""


def leak_graph(torch: Any) -> None:
    """Keep the sum of the losses, and with it every graph."""
    model, data = layers(torch, 1024, 4), torch.randn(512, 1024, device="cuda")
    optimizer = torch.optim.AdamW(model.parameters(), fused=True)
    total = torch.zeros((), device="cuda")
    for _ in range(STEPS):
        loss = model(data).pow(2).mean()  # planted
        loss.backward(retain_graph=True)
        optimizer.step()
        optimizer.zero_grad()
        total = total + loss


def leak_list(torch: Any) -> None:
    """Keep the output of every step."""
    model, outputs = layers(torch, 1024, 4), []
    for data in batches(torch, 2048, 1024):
        with torch.no_grad():
            outputs.append(model(data.cuda()))  # planted


def fragmentation(torch: Any) -> None:
    """Keep one block of each segment, then ask for more than any segment holds."""
    limit(torch, 3 * GIB)
    blocks = []
    for _ in range(540):
        block = torch.empty(5 * MIB, dtype=torch.uint8, device="cuda")  # planted
        blocks.append(block)
    del block
    kept = blocks[::4]
    del blocks
    torch.empty(700 * MIB, dtype=torch.uint8, device="cuda")
    del kept


def peak(torch: Any) -> None:
    """Write the scores of attention to memory: 20 GiB at the peak, four times 5."""
    shape = (10, 8, 4096, 64)
    q, k, v = (torch.randn(shape, device="cuda", requires_grad=True) for _ in range(3))
    optimizer = torch.optim.SGD([q, k, v], lr=1e-3)
    for _ in range(STEPS):
        out = torch.softmax(q @ k.transpose(-2, -1) / 8, dim=-1) @ v  # planted
        out.sum().backward()
        del out
        optimizer.step()
        optimizer.zero_grad()


def full(torch: Any) -> None:
    """Make more parameters than a limit allows."""
    limit(torch, 4 * GIB)
    weights = []
    for _ in range(40):
        weight = torch.zeros(128 * MIB // 4, device="cuda")  # planted
        weights.append(weight)


PLANTS: tuple[Callable[[Any], None], ...] = (leak_graph, leak_list, fragmentation, peak, full)
BY_NAME = {plant.__name__: plant for plant in PLANTS}


def line_of(plant: Callable[[Any], None]) -> int:
    """The line of the culprit."""
    source, first = inspect.getsourcelines(plant)
    return next(first + at for at, text in enumerate(source) if PLANT in text)


def limit(torch: Any, size: int) -> None:
    """Limit what the process may use."""
    whole = torch.cuda.get_device_properties(0).total_memory
    torch.cuda.set_per_process_memory_fraction(size / whole)


def layers(torch: Any, width: int, depth: int) -> Any:
    """Linear layers with GELU between them."""
    parts = [m for _ in range(depth) for m in (torch.nn.Linear(width, width), torch.nn.GELU())]
    return torch.nn.Sequential(*parts).cuda()


def batches(torch: Any, rows: int, width: int) -> Iterator[Any]:
    """As many batches as steps, from a loader."""
    samples = torch.randn(rows, width)
    data = torch.utils.data.TensorDataset(samples.expand(STEPS, rows, width))
    for (batch,) in torch.utils.data.DataLoader(data, batch_size=None):
        yield batch


def main() -> None:
    """Run the program that is named."""
    import torch

    BY_NAME[sys.argv[1]](torch)


if __name__ == "__main__":
    main()
