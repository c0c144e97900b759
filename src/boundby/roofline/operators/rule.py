"""What every operator rule is made of."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable

from boundby.roofline.arguments import Arguments, Shape, Tensor
from boundby.roofline.costs import Cost, UncountedError
from boundby.roofline.dtypes import itemsize

Rule = Callable[[Arguments], Cost]
"""From decoded arguments to the cost; raises UncountedError where they do not tell."""


def size(shape: Iterable[int], dtype: str) -> float:
    """Bytes of a dense tensor; NaN where the type is unknown."""
    elements = math.prod(shape)
    return elements * itemsize(dtype) if elements else 0.0


def moved(*tensors: Tensor | None) -> float:
    """Bytes of the distinct elements of the operands that are there."""
    return sum(tensor.bytes for tensor in tensors if tensor is not None)


def broadcast(shapes: Iterable[Shape]) -> Shape:
    """The common shape of operands; raises UncountedError where they do not go together."""
    result: list[int] = []
    for shape in shapes:
        padded = [1] * (len(shape) - len(result)) + result
        offset = len(padded) - len(shape)
        for axis, length in enumerate(shape):
            if length != 1 and padded[offset + axis] not in (1, length):
                raise UncountedError
            padded[offset + axis] = length if length != 1 else padded[offset + axis]
        result = padded
    return tuple(result)


def wrap(axis: int, rank: int) -> int:
    """A dimension number counted from the front; raises UncountedError outside the rank."""
    if not -max(rank, 1) <= axis < max(rank, 1):
        raise UncountedError
    return axis % rank if rank else 0
