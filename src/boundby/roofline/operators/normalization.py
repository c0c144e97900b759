"""Normalisations: least bytes read the input once, although most kernels pass over it twice."""

from __future__ import annotations

from boundby.roofline.arguments import Arguments, Tensor
from boundby.roofline.costs import Cost, count
from boundby.roofline.dtypes import itemsize
from boundby.roofline.operators.rule import Rule, moved, size

FORWARD_FLOPS = 8
"""An element: mean 1, variance 3 (subtract, square, add), normalise 2, scale and shift 2."""
FIXED_FLOPS = 4
"""Batch norm with running statistics: normalise 2, scale and shift 2."""
RMS_FLOPS = 4
"""Square and add 2, normalise 1, scale 1."""
BACKWARD_FLOPS = 12
"""Two sums over the group (product and add each, with normalising 2: 6), and the result 6."""


def _statistics(x: Tensor, groups: float, values: int = 2) -> float:
    """Bytes of the statistics kept for the backward pass: float32 for half-precision inputs."""
    return groups * values * max(itemsize(x.dtype), 4.0)


def _layer_norm(arguments: Arguments) -> Cost:
    """``native_layer_norm(input, normalized_shape, weight, bias, eps)``."""
    x, weight, bias = arguments.tensor(0), arguments.optional(2), arguments.optional(3)
    width = 1
    for length in arguments.integers(1, weight.shape if weight is not None else None):
        width *= length
    bytes_ = moved(x, weight, bias) + size(x.shape, x.dtype)
    bytes_ += _statistics(x, x.numel / max(width, 1))
    return count(FORWARD_FLOPS * x.numel, bytes_, x.dtype)


def _layer_norm_backward(arguments: Arguments) -> Cost:
    """``native_layer_norm_backward(grad, input, shape, mean, rstd, weight, bias, mask)``."""
    grad, x = arguments.tensor(0), arguments.tensor(1)
    parameters = arguments.optional(5), arguments.optional(6)
    read = moved(grad, x, arguments.optional(3), arguments.optional(4), parameters[0])
    written = size(x.shape, x.dtype) + moved(*parameters)
    return count(BACKWARD_FLOPS * x.numel, read + written, x.dtype)


def _rms_norm(arguments: Arguments) -> Cost:
    """``_fused_rms_norm(input, normalized_shape, weight, eps)``."""
    x, weight = arguments.tensor(0), arguments.optional(2)
    width = 1
    for length in arguments.integers(1, weight.shape if weight is not None else None):
        width *= length
    bytes_ = moved(x, weight) + size(x.shape, x.dtype)
    bytes_ += _statistics(x, x.numel / max(width, 1), 1)
    return count(RMS_FLOPS * x.numel, bytes_, x.dtype)


def _rms_norm_backward(arguments: Arguments) -> Cost:
    """``_fused_rms_norm_backward(grad, input, normalized_shape, rstd, weight, mask)``."""
    grad, x, weight = arguments.tensor(0), arguments.tensor(1), arguments.optional(4)
    read = moved(grad, x, arguments.optional(3), weight)
    written = size(x.shape, x.dtype) + moved(weight)
    return count(BACKWARD_FLOPS * x.numel, read + written, x.dtype)


def _group_norm(arguments: Arguments) -> Cost:
    """``native_group_norm(input, weight, bias, N, C, HxW, groups, eps)``."""
    x = arguments.tensor(0)
    bytes_ = moved(x, arguments.optional(1), arguments.optional(2)) + size(x.shape, x.dtype)
    bytes_ += _statistics(x, arguments.integer(3, 1) * arguments.integer(6, 1))
    return count(FORWARD_FLOPS * x.numel, bytes_, x.dtype)


def _group_norm_backward(arguments: Arguments) -> Cost:
    """``native_group_norm_backward(grad, input, mean, rstd, weight, ...)``."""
    grad, x, weight = arguments.tensor(0), arguments.tensor(1), arguments.optional(4)
    read = moved(grad, x, arguments.optional(2), arguments.optional(3), weight)
    written = size(x.shape, x.dtype) + 2 * moved(weight)
    return count(BACKWARD_FLOPS * x.numel, read + written, x.dtype)


def _batch_norm(training: int | None) -> Rule:
    """``native_batch_norm(input, weight, bias, running_mean, running_var, training, ...)``.

    While training the running statistics are read and written and the batch's own are kept.
    """

    def rule(arguments: Arguments) -> Cost:
        x = arguments.tensor(0)
        small = [arguments.optional(i) for i in range(1, 5)]
        bytes_ = moved(x, *small) + size(x.shape, x.dtype)
        if training is not None and not arguments.flag(training):
            return count(FIXED_FLOPS * x.numel, bytes_, x.dtype)
        channels = x.shape[1] if len(x.shape) > 1 else 1
        bytes_ += moved(*small[2:]) + _statistics(x, channels)
        return count(FORWARD_FLOPS * x.numel, bytes_, x.dtype)

    return rule


def _batch_norm_backward(grad: int, x: int, weight: int) -> Rule:
    """Reads the two tensors, weight and statistics; writes three gradients."""

    def rule(arguments: Arguments) -> Cost:
        upstream, inputs = arguments.tensor(grad), arguments.tensor(x)
        scale = arguments.optional(weight)
        kept = [arguments.optional(i) for i in (5, 6)]
        written = size(inputs.shape, inputs.dtype) + 2 * moved(scale)
        bytes_ = moved(upstream, inputs, scale, *kept) + written
        return count(BACKWARD_FLOPS * inputs.numel, bytes_, inputs.dtype)

    return rule


def _batch_norm_statistics(arguments: Arguments) -> Cost:
    x = arguments.tensor(0)
    channels = x.shape[1] if len(x.shape) > 1 else 1
    return count(4 * x.numel, moved(x) + _statistics(x, channels), x.dtype)


def _batch_norm_elements(arguments: Arguments) -> Cost:
    x = arguments.tensor(0)
    small = [arguments.optional(i) for i in range(1, 5)]
    return count(FIXED_FLOPS * x.numel, moved(x, *small) + size(x.shape, x.dtype), x.dtype)


def _batch_norm_backward_sums(arguments: Arguments) -> Cost:
    grad, x = arguments.tensor(0), arguments.tensor(1)
    small = [arguments.optional(i) for i in range(2, 5)]
    return count(6 * x.numel, moved(grad, x, *small), x.dtype)


def _batch_norm_backward_elements(arguments: Arguments) -> Cost:
    grad, x = arguments.tensor(0), arguments.tensor(1)
    return count(6 * x.numel, moved(grad, x) + size(x.shape, x.dtype), x.dtype)


RULES: dict[str, Rule] = {
    "native_layer_norm": _layer_norm,
    "layer_norm": _layer_norm,
    "native_layer_norm_backward": _layer_norm_backward,
    "_fused_rms_norm": _rms_norm,
    "rms_norm": _rms_norm,
    "_fused_rms_norm_backward": _rms_norm_backward,
    "native_group_norm": _group_norm,
    "native_group_norm_backward": _group_norm_backward,
    "native_batch_norm": _batch_norm(5),
    "_native_batch_norm_legit": _batch_norm(5),
    "_native_batch_norm_legit_no_training": _batch_norm_elements,
    "_batch_norm_with_update": _batch_norm(None),
    "cudnn_batch_norm": _batch_norm(5),
    "miopen_batch_norm": _batch_norm(5),
    "native_batch_norm_backward": _batch_norm_backward(0, 1, 2),
    "batch_norm_backward": _batch_norm_backward(0, 1, 2),
    "cudnn_batch_norm_backward": _batch_norm_backward(1, 0, 2),
    "miopen_batch_norm_backward": _batch_norm_backward(1, 0, 2),
    "batch_norm_stats": _batch_norm_statistics,
    "batch_norm_elemt": _batch_norm_elements,
    "batch_norm_backward_reduce": _batch_norm_backward_sums,
    "batch_norm_backward_elemt": _batch_norm_backward_elements,
}
