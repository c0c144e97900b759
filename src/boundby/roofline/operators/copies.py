"""Copies, casts, concatenation and filling: no operations, every element moved once."""

from __future__ import annotations

import math

from boundby.roofline.arguments import Arguments, Tensor
from boundby.roofline.costs import FREE, Cost, UncountedError, count
from boundby.roofline.operators.rule import Rule, moved, size


def _copy(arguments: Arguments) -> Cost:
    """``copy_(self, source)``: a broadcast source is read once; different types are a cast."""
    target, source = arguments.tensor(0), arguments.tensor(1)
    return count(0, moved(source) + moved(target), target.dtype)


def _copy_from(arguments: Arguments) -> Cost:
    """``_copy_from(self, target)``: the other order."""
    source, target = arguments.tensor(0), arguments.tensor(1)
    return count(0, moved(source) + moved(target), target.dtype)


def _clone(arguments: Arguments) -> Cost:
    x = arguments.tensor(0)
    return count(0, moved(x) + size(x.shape, x.dtype), x.dtype)


def _contiguous(arguments: Arguments) -> Cost:
    return FREE if arguments.tensor(0).is_contiguous else _clone(arguments)


def _to_copy(arguments: Arguments) -> Cost:
    """``_to_copy(self, dtype, ...)``; no dtype means that of the input."""
    x = arguments.tensor(0)
    dtype = arguments.dtype(1, x.dtype)
    return count(0, moved(x) + size(x.shape, dtype), dtype)


def _repeat(arguments: Arguments) -> Cost:
    """``repeat(self, repeats)``."""
    x = arguments.tensor(0)
    copies = math.prod(arguments.integers(1))
    return count(0, moved(x) + copies * size(x.shape, x.dtype), x.dtype)


def _concatenate(arguments: Arguments) -> Cost:
    """``cat(tensors, dim)`` and ``stack``: everything read and written once."""
    parts: tuple[Tensor, ...] = arguments.tensors(0)
    written = sum(size(part.shape, part.dtype) for part in parts)
    return count(0, moved(*parts) + written, parts[0].dtype)


def _pad(arguments: Arguments) -> Cost:
    """``reflection_pad2d(self, padding)``: padding names both ends, last dimension first."""
    x = arguments.tensor(0)
    padding = arguments.integers(1)
    if len(padding) % 2 or len(padding) > 2 * len(x.shape):
        raise UncountedError
    shape = list(x.shape)
    for pair in range(len(padding) // 2):
        shape[-1 - pair] += padding[2 * pair] + padding[2 * pair + 1]
    return count(0, moved(x) + size(shape, x.dtype), x.dtype)


def _fill(arguments: Arguments) -> Cost:
    """Writes every element and reads none."""
    x = arguments.tensor(0)
    return count(0, moved(x), x.dtype)


def _random(special: int) -> Rule:
    """Random numbers: their arithmetic takes as long as ``special`` evaluations an element.

    Measured on an H200 (torch 2.11): 6 uniform, 10 normal.
    """

    def rule(arguments: Arguments) -> Cost:
        x = arguments.tensor(0)
        return count(0, moved(x), x.dtype, special=special * x.numel)

    return rule


def _triangle(arguments: Arguments) -> Cost:
    """``tril(self)``: half is read, all is written."""
    x = arguments.tensor(0)
    return count(0, moved(x) / 2 + size(x.shape, x.dtype), x.dtype)


def _im2col(arguments: Arguments) -> Cost:
    """``im2col(self, kernel, dilation, padding, stride)``: each window is written out."""
    x = arguments.tensor(0, 4)
    kernel, dilation, padding, stride = (arguments.integers(i) for i in range(1, 5))
    windows = 1
    for i in range(2):
        reach = dilation[i % len(dilation)] * (kernel[i % len(kernel)] - 1)
        pad, step = padding[i % len(padding)], stride[i % len(stride)]
        windows *= (x.shape[2 + i] + 2 * pad - reach - 1) // step + 1
    taps = kernel[0] * kernel[-1]
    return count(0, moved(x) + size((*x.shape[:2], taps, windows), x.dtype), x.dtype)


RULES: dict[str, Rule] = {
    "copy_": _copy,
    "_copy_from": _copy_from,
    "clone": _clone,
    "contiguous": _contiguous,
    "_to_copy": _to_copy,
    "repeat": _repeat,
    "flip": _clone,
    "roll": _clone,
    "rot90": _clone,
    "reshape_copy": _clone,
    "view_copy": _clone,
    "transpose_copy": _clone,
    "permute_copy": _clone,
    "channel_shuffle": _clone,
    "pixel_shuffle": _clone,
    "pixel_unshuffle": _clone,
    "cat": _concatenate,
    "_cat": _concatenate,
    "concat": _concatenate,
    "stack": _concatenate,
    "hstack": _concatenate,
    "vstack": _concatenate,
    "reflection_pad1d": _pad,
    "reflection_pad2d": _pad,
    "reflection_pad3d": _pad,
    "replication_pad1d": _pad,
    "replication_pad2d": _pad,
    "replication_pad3d": _pad,
    "constant_pad_nd": _pad,
    "tril": _triangle,
    "triu": _triangle,
    "im2col": _im2col,
    "fill_": _fill,
    "zero_": _fill,
    "eye_": _fill,
    "uniform_": _random(6),
    "random_": _random(6),
    "bernoulli_": _random(6),
    "geometric_": _random(10),
    "exponential_": _random(10),
    "cauchy_": _random(10),
    "normal_": _random(10),
    "log_normal_": _random(11),
}
