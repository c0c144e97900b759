"""The same values in other layouts, the same shapes with other values, other batch sizes.

A kernel may be right for one layout and wrong for the next: on an H200 with torch 2.11, cuDNN's
attention gives gradients 140% off for the second layout of grad_output that a process uses with
one shape, whichever comes second. So all layouts are tried in one process, one after the other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from boundby.bench.framework import Tensor, map_tensors, tensors_in, torch

CONTIGUOUS = "contiguous"
AGAIN = "contiguous again"
EXPANDED = "expanded"
MOST_TRANSPOSED = 3


def grad_layouts(shape: Sequence[int]) -> tuple[str, ...]:
    """Layouts to try for a gradient of this shape; the first comes again at the end."""
    several = [at for at in range(len(shape) - 1) if shape[at] > 1 and shape[at + 1] > 1]
    transposed = tuple(f"transposed {at} {at + 1}" for at in reversed(several[-MOST_TRANSPOSED:]))
    expanded = (EXPANDED,) if shape and shape[0] > 1 else ()
    again = (AGAIN,) if transposed or expanded else ()
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

    def turned(tensor: Tensor) -> Tensor:
        if tensor.dim() < matrix:
            return tensor
        return laid_out(tensor, f"transposed {tensor.dim() - 2} {tensor.dim() - 1}")

    return [map_tensors(turned, each) for each in inputs]


def redrawn(inputs: Sequence[Any], seed: int) -> list[Any]:
    """Fresh values: normal ones of the same mean and spread; integers in another order.

    NaN and infinities stay where they are: a mask of minus infinity remains one.
    """
    generator = torch().Generator().manual_seed(seed)
    return [map_tensors(lambda each: _redrawn(each, generator), value) for value in inputs]


def shuffled(inputs: Sequence[Any], seed: int) -> list[Any]:
    """The same values in another order: for inputs that must stay in a range."""
    generator = torch().Generator().manual_seed(seed)
    return [map_tensors(lambda each: _shuffled(each, generator), value) for value in inputs]


def _redrawn(value: Tensor, generator: Any) -> Tensor:  # noqa: ANN401 -- torch's generator
    finite = value.detach().isfinite()
    if not value.is_floating_point() or not bool(finite.any()):
        return _shuffled(value, generator)
    plain = value.detach()[finite].double()
    spread = float(plain.std()) if plain.numel() > 1 else 1.0
    fresh = torch().randn(value.shape, generator=generator, dtype=torch().float64)
    drawn = (fresh * spread + float(plain.mean())).to(value.dtype).to(value.device)
    mixed = torch().where(finite, drawn, value.detach())
    return mixed.requires_grad_(value.requires_grad)


def _shuffled(value: Tensor, generator: Any) -> Tensor:  # noqa: ANN401 -- torch's generator
    order = torch().randperm(value.numel(), generator=generator).to(value.device)
    mixed = value.detach().flatten()[order].view(value.shape)
    return mixed.requires_grad_(value.requires_grad)


def batches(inputs: Sequence[Any], sizes: Sequence[int]) -> Iterator[tuple[int, list[list[Any]]]]:
    """For each batch size, ways to cut the inputs to it: all that share dimension 0, or the first.

    Sizes above the given one repeat rows.
    """
    tensors = _with_rows(inputs)
    if not tensors or not tensors[0].shape[0]:
        return
    first, rows = tensors[0], tensors[0].shape[0]
    for size in sizes:
        alike = _cut_where(inputs, size, lambda each: _has_rows(each, rows))
        alone = _cut_where(inputs, size, lambda each: each is first)
        yield size, [alike, alone]


def _cut_where(inputs: Sequence[Any], size: int, is_wanted: Callable[[Tensor], bool]) -> list[Any]:
    def cut(tensor: Tensor) -> Tensor:
        return _cut(tensor, size) if is_wanted(tensor) else tensor

    return [map_tensors(cut, each) for each in inputs]


def default_sizes(inputs: Sequence[Any]) -> tuple[int, ...]:
    """A single sample and an odd number of them, where the given batch is larger."""
    tensors = _with_rows(inputs)
    rows = int(tensors[0].shape[0]) if tensors else 0
    return tuple(size for size in (1, 3) if size < rows)


def _with_rows(inputs: Sequence[Any]) -> list[Tensor]:
    return [each for each in tensors_in(list(inputs)) if each.dim()]


def _has_rows(value: Tensor, rows: int) -> bool:
    return value.dim() > 0 and value.shape[0] == rows


def _cut(value: Tensor, size: int) -> Tensor:
    rows = torch().arange(size, device=value.device) % value.shape[0]
    return value.detach()[rows].requires_grad_(value.requires_grad)
