"""Pooling and resampling."""

from __future__ import annotations

import math

from boundby.roofline.arguments import Arguments, Shape
from boundby.roofline.costs import Cost, UncountedError, count
from boundby.roofline.operators.rule import Rule, moved, size


def _spread(values: Shape, rank: int) -> Shape:
    if len(values) in (1, rank):
        return values * (rank // len(values))
    raise UncountedError


def _window_shape(arguments: Arguments, rank: int, *, dilation: int | None, ceil: int) -> Shape:
    """Output of ``pool(input, kernel, stride, padding, [dilation], ceil_mode)``."""
    x = arguments.tensor(0)
    if len(x.shape) < rank:
        raise UncountedError
    kernel = _spread(arguments.integers(1), rank)
    stride = _spread(arguments.integers(2, ()) or kernel, rank)
    padding = _spread(arguments.integers(3, (0,)) or (0,), rank)
    steps = (1,) if dilation is None else arguments.integers(dilation, (1,))
    spatial = []
    for n, k, s, p, d in zip(
        x.shape[-rank:], kernel, stride, padding, _spread(steps, rank), strict=True
    ):
        last = (n + 2 * p - d * (k - 1) - 1) / s
        length = math.ceil(last) if arguments.flag(ceil) else math.floor(last)
        if arguments.flag(ceil) and length * s >= n + p:  # no window starts in the padding
            length -= 1
        spatial.append(length + 1)
    return (*x.shape[:-rank], *spatial)


def _max_pool(rank: int, *, indices: bool) -> Rule:
    def rule(arguments: Arguments) -> Cost:
        x = arguments.tensor(0)
        out = _window_shape(arguments, rank, dilation=4, ceil=5)
        window = math.prod(_spread(arguments.integers(1), rank))
        named = size(out, "int64") if indices else 0.0
        bytes_ = moved(x) + size(out, x.dtype) + named
        return count(window * math.prod(out), bytes_, x.dtype)

    return rule


def _max_pool_backward(arguments: Arguments) -> Cost:
    """Reads the gradient and the indices, writes a gradient like the input."""
    grad, x, indices = arguments.tensor(0), arguments.tensor(1), arguments.tensor(7)
    return count(grad.numel, moved(grad, indices) + size(x.shape, x.dtype), x.dtype)


def _average_pool(rank: int) -> Rule:
    def rule(arguments: Arguments) -> Cost:
        x = arguments.tensor(0)
        out = _window_shape(arguments, rank, dilation=None, ceil=4)
        window = math.prod(_spread(arguments.integers(1), rank))
        return count(window * math.prod(out), moved(x) + size(out, x.dtype), x.dtype)

    return rule


def _like_input(arguments: Arguments) -> Cost:
    """Backward of pooling by averages: reads the gradient, writes one like the input."""
    grad, x = arguments.tensor(0), arguments.tensor(1)
    return count(max(grad.numel, x.numel), moved(grad) + size(x.shape, x.dtype), x.dtype)


def _adaptive(rank: int) -> Rule:
    """``_adaptive_avg_pool2d(input, output_size)``."""

    def rule(arguments: Arguments) -> Cost:
        x = arguments.tensor(0)
        wanted = _spread(arguments.integers(1), rank)
        out = (*x.shape[:-rank], *wanted)
        return count(x.numel, moved(x) + size(out, x.dtype), x.dtype)

    return rule


def _upsample(flops: int) -> Rule:
    """``upsample_bilinear2d(input, output_size, ...)``; ``flops`` a result element."""

    def rule(arguments: Arguments) -> Cost:
        x = arguments.tensor(0)
        wanted = arguments.integers(1)
        if len(wanted) + 2 != len(x.shape):
            raise UncountedError
        out = (*x.shape[:2], *wanted)
        return count(flops * math.prod(out), moved(x) + size(out, x.dtype), x.dtype)

    return rule


def _upsample_backward(flops: int) -> Rule:
    """``upsample_bilinear2d_backward(grad, output_size, input_size, ...)``."""

    def rule(arguments: Arguments) -> Cost:
        grad = arguments.tensor(0)
        written = size(arguments.integers(2), grad.dtype)
        return count(flops * grad.numel, moved(grad) + written, grad.dtype)

    return rule


def _grid_sampler(arguments: Arguments) -> Cost:
    """``grid_sampler_2d(input, grid, ...)``: four corners a result element."""
    x, grid = arguments.tensor(0, 4), arguments.tensor(1, 4)
    out = (x.shape[0], x.shape[1], *grid.shape[1:3])
    return count(8 * math.prod(out), moved(x, grid) + size(out, x.dtype), x.dtype)


_UPSAMPLE_FLOPS = {
    "nearest1d": 0,
    "nearest2d": 0,
    "nearest3d": 0,
    "_nearest_exact1d": 0,
    "_nearest_exact2d": 0,
    "_nearest_exact3d": 0,
    "linear1d": 3,
    "bilinear2d": 7,
    "trilinear3d": 15,
    "bicubic2d": 31,
}
"""Operations a result element: products and sums over 2, 4, 8 or 16 neighbours."""


def _upsample_rules() -> dict[str, Rule]:
    rules: dict[str, Rule] = {}
    for kind, flops in _UPSAMPLE_FLOPS.items():
        name = f"_upsample{kind}" if kind.startswith("_") else f"upsample_{kind}"
        rules[name] = _upsample(flops)
        rules[f"{name}_backward"] = _upsample_backward(max(flops, 1))
    rules["_upsample_bilinear2d_aa"] = _upsample(7)
    return rules


RULES: dict[str, Rule] = {
    "max_pool2d_with_indices": _max_pool(2, indices=True),
    "max_pool3d_with_indices": _max_pool(3, indices=True),
    "max_pool1d": _max_pool(1, indices=False),
    "max_pool2d": _max_pool(2, indices=False),
    "max_pool2d_with_indices_backward": _max_pool_backward,
    "max_pool3d_with_indices_backward": _max_pool_backward,
    "avg_pool1d": _average_pool(1),
    "avg_pool2d": _average_pool(2),
    "avg_pool3d": _average_pool(3),
    "avg_pool2d_backward": _like_input,
    "avg_pool3d_backward": _like_input,
    "_adaptive_avg_pool2d": _adaptive(2),
    "_adaptive_avg_pool3d": _adaptive(3),
    "_adaptive_avg_pool2d_backward": _like_input,
    "_adaptive_avg_pool3d_backward": _like_input,
    "grid_sampler_2d": _grid_sampler,
    **_upsample_rules(),
}
