"""The same values in other layouts, the same shapes with other values, other batch sizes.

A kernel may be right for one layout and wrong for the next: on an H200 with torch 2.11, cuDNN's
attention gives gradients 140% off for the second layout of grad_output that a process uses with
one shape, whichever comes second. So all layouts are tried in one process, one after the other.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from boundby.bench.framework import Tensor, torch

CONTIGUOUS = "contiguous"
EXPANDED = "expanded"
MOST_TRANSPOSED = 3


def grad_layouts(shape: Sequence[int]) -> tuple[str, ...]:
    """Layouts to try for a gradient of this shape; the first comes again at the end."""
    several = [at for at in range(len(shape) - 1) if shape[at] > 1 and shape[at + 1] > 1]
    transposed = tuple(f"transposed {at} {at + 1}" for at in reversed(several[-MOST_TRANSPOSED:]))
    expanded = (EXPANDED,) if shape and shape[0] > 1 else ()
    again = (CONTIGUOUS,) if transposed or expanded else ()
    return (CONTIGUOUS, *transposed, *expanded, *again)


def laid_out(values: Tensor, layout: str) -> Tensor:
    """Values in a layout; ``expanded`` repeats the first row, so its values differ."""
    if layout == EXPANDED:
        return values[:1].contiguous().expand(values.shape)
    if layout.startswith("transposed"):
        first, second = (int(part) for part in layout.split()[1:])
        return values.transpose(first, second).contiguous().transpose(first, second)
    return values.contiguous()


def transposed_inputs(inputs: Sequence[Any]) -> list[Any]:
    """Inputs with the same values, every tensor of two or more dimensions non-contiguous."""
    matrix = 2
    return [
        laid_out(each, f"transposed {each.dim() - 2} {each.dim() - 1}")
        if isinstance(each, torch().Tensor) and each.dim() >= matrix
        else each
        for each in inputs
    ]


def redrawn(inputs: Sequence[Any], seed: int) -> list[Any]:
    """Fresh values: normal ones of the same mean and spread; integers in another order."""
    generator = torch().Generator().manual_seed(seed)
    return [_redrawn(each, generator) for each in inputs]


def _redrawn(value: Any, generator: Any) -> Any:  # noqa: ANN401 -- any argument
    if not isinstance(value, torch().Tensor) or value.numel() == 0:
        return value
    if value.is_floating_point():
        plain = value.detach().double()
        spread = float(plain.std()) if value.numel() > 1 else 1.0
        fresh = torch().randn(value.shape, generator=generator, dtype=torch().float64)
        drawn = fresh * spread + float(plain.mean())
        return drawn.to(value.dtype).to(value.device).requires_grad_(value.requires_grad)
    if value.is_complex():
        return value
    order = torch().randperm(value.numel(), generator=generator).to(value.device)
    return value.detach().flatten()[order].view(value.shape)


def batches(inputs: Sequence[Any], sizes: Sequence[int]) -> Iterator[tuple[int, list[list[Any]]]]:
    """For each batch size, ways to cut the inputs to it: all that share dimension 0, or the first.

    Sizes above the given one repeat rows.
    """
    tensors = [each for each in inputs if isinstance(each, torch().Tensor) and each.dim()]
    if not tensors:
        return
    rows = tensors[0].shape[0]
    for size in sizes:
        every = [
            _cut(each, size) if each is not None and _has_rows(each, rows) else each
            for each in inputs
        ]
        first = [_cut(each, size) if each is tensors[0] else each for each in inputs]
        yield size, [every, first]


def default_sizes(inputs: Sequence[Any]) -> tuple[int, ...]:
    """A single sample and an odd number of them, where the given batch is larger."""
    tensors = [each for each in inputs if isinstance(each, torch().Tensor) and each.dim()]
    rows = int(tensors[0].shape[0]) if tensors else 0
    return tuple(size for size in (1, 3) if size < rows)


def _has_rows(value: Any, rows: int) -> bool:  # noqa: ANN401 -- any argument
    return isinstance(value, torch().Tensor) and value.dim() > 0 and value.shape[0] == rows


def _cut(value: Tensor, size: int) -> Tensor:
    rows = torch().arange(size, device=value.device) % value.shape[0]
    return value.detach()[rows].requires_grad_(value.requires_grad)
