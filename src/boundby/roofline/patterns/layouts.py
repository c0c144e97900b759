"""Layouts that fight: operands of one kernel whose memory runs along different dimensions.

A single transposed operand costs nothing: the result takes its layout. Two that disagree make one
of them be read across its rows, whichever way the kernel goes.
"""

from __future__ import annotations

from boundby.roofline.arguments import Tensor


def fastest(tensor: Tensor) -> int | None:
    """The dimension that memory runs along, counted from the last (-1); None if there is none."""
    if tensor.strides is None:
        return None
    rank = len(tensor.shape)
    moving = [
        (stride, axis - rank)
        for axis, (size, stride) in enumerate(zip(tensor.shape, tensor.strides, strict=True))
        if size > 1 and stride > 0
    ]
    return min(moving)[1] if moving else None


def disagree(tensors: list[Tensor]) -> bool:
    """Whether the largest operands run along different dimensions; broadcast ones do not count."""
    if not tensors:
        return False
    largest = max(tensor.distinct for tensor in tensors)
    axes = {fastest(t) for t in tensors if t.distinct == largest and len(t.shape) > 1}
    return len(axes - {None}) > 1
