"""Reductions, scans and softmax: the input read once, the result written once."""

from __future__ import annotations

from boundby.roofline.arguments import MATRIX, Arguments, Shape, Tensor
from boundby.roofline.costs import Cost, UncountedError, count
from boundby.roofline.dtypes import category
from boundby.roofline.operators.rule import Rule, moved, size, wrap

SOFTMAX_FLOPS = 5
"""Maximum, subtraction, exp, sum, division: one each an element; log-softmax has as many."""
SOFTMAX_BACKWARD_FLOPS = 4
"""Product and sum for the inner term, subtraction, product."""


def _axes(arguments: Arguments, slot: int, rank: int) -> tuple[int, ...]:
    """The dimensions reduced; all of them where none are named."""
    named = arguments.integers(slot, ())
    return tuple(wrap(axis, rank) for axis in named) or tuple(range(rank))


def _remaining(shape: Shape, axes: tuple[int, ...]) -> Shape:
    return tuple(n for axis, n in enumerate(shape) if axis not in axes)


def _sum_dtype(x: Tensor) -> str:
    """Sums of integers are int64."""
    return "int64" if category(x.dtype) in ("bool", "int") else x.dtype


def _reduce(flops: int, *, result: str = "", axes: int = 1, extra: str = "") -> Rule:
    """A rule for ``(input, dims, keepdim, ...)``.

    Args:
        flops: Operations an element of the input.
        result: Type of the result; empty for that of the input, ``sum`` for that of a sum.
        axes: The slot of the dimensions.
        extra: Type of a second result of the same size; empty for none.
    """

    def rule(arguments: Arguments) -> Cost:
        x = arguments.tensor(0)
        out = _remaining(x.shape, _axes(arguments, axes, len(x.shape)))
        dtype = _sum_dtype(x) if result == "sum" else result or x.dtype
        bytes_ = moved(x) + size(out, dtype) + (size(out, extra) if extra else 0.0)
        return count(flops * x.numel, bytes_, x.dtype)

    return rule


def _extreme(arguments: Arguments) -> Cost:
    """``max(input)``, ``max(input, dim)`` with indices, or ``max(input, other)`` elementwise."""
    x, other = arguments.tensor(0), arguments.optional(1)
    if other is not None and other.shape:
        bytes_ = moved(x, other) + size(x.shape, x.dtype)
        return count(x.numel, bytes_, x.dtype)
    if not arguments.text(1):
        return count(x.numel, moved(x) + size((), x.dtype), x.dtype)
    out = _remaining(x.shape, _axes(arguments, 1, len(x.shape)))
    return count(x.numel, moved(x) + size(out, x.dtype) + size(out, "int64"), x.dtype)


def _spread(flops: int, results: int) -> Rule:
    """``var(input, dim, correction, keepdim)`` or ``var(input, unbiased)``."""

    def rule(arguments: Arguments) -> Cost:
        x = arguments.tensor(0)
        named = arguments.text(1).startswith("[")
        axes = _axes(arguments, 1, len(x.shape)) if named else tuple(range(len(x.shape)))
        out = size(_remaining(x.shape, axes), x.dtype)
        return count(flops * x.numel, moved(x) + results * out, x.dtype)

    return rule


def _scan(flops: int, *, result: str = "") -> Rule:
    def rule(arguments: Arguments) -> Cost:
        x = arguments.tensor(0)
        dtype = _sum_dtype(x) if result == "sum" else x.dtype
        return count(flops * x.numel, moved(x) + size(x.shape, dtype), x.dtype)

    return rule


def _scan_with_indices(arguments: Arguments) -> Cost:
    x = arguments.tensor(0)
    bytes_ = moved(x) + size(x.shape, x.dtype) + size(x.shape, "int64")
    return count(x.numel, bytes_, x.dtype)


def _softmax(arguments: Arguments) -> Cost:
    """``_softmax(input, dim, half_to_float)``."""
    x = arguments.tensor(0)
    dtype = "float32" if arguments.flag(2) else x.dtype
    bytes_ = moved(x) + size(x.shape, dtype)
    return count(SOFTMAX_FLOPS * x.numel, bytes_, x.dtype, special=x.numel)


def _masked_softmax(arguments: Arguments) -> Cost:
    x, mask = arguments.tensor(0), arguments.tensor(1)
    bytes_ = moved(x, mask) + size(x.shape, x.dtype)
    return count((SOFTMAX_FLOPS + 1) * x.numel, bytes_, x.dtype, special=x.numel)


def _softmax_backward(special: int) -> Rule:
    """``_softmax_backward_data(grad, output, dim, input_dtype)``."""

    def rule(arguments: Arguments) -> Cost:
        grad, out = arguments.tensor(0), arguments.tensor(1)
        bytes_ = moved(grad, out) + size(out.shape, arguments.dtype(3, grad.dtype))
        flops = SOFTMAX_BACKWARD_FLOPS * out.numel
        return count(flops, bytes_, grad.dtype, special=special * out.numel)

    return rule


def _distance(arguments: Arguments) -> Cost:
    """``_cdist_forward(x1, x2, p, mode)``: subtract, power, add for each pair of rows."""
    a, b = arguments.tensor(0), arguments.tensor(1)
    if min(len(a.shape), len(b.shape)) < MATRIX or a.shape[-1] != b.shape[-1]:
        raise UncountedError
    out = (*a.shape[:-1], b.shape[-2])
    elements = a.numel * b.shape[-2]
    return count(3 * elements, moved(a, b) + size(out, a.dtype), a.dtype)


RULES: dict[str, Rule] = {
    "sum": _reduce(1, result="sum"),
    "nansum": _reduce(2, result="sum"),
    "prod": _reduce(1, result="sum"),
    "mean": _reduce(1),
    "nanmean": _reduce(2),
    "amax": _reduce(1),
    "amin": _reduce(1),
    "aminmax": _reduce(2),
    "argmax": _reduce(1, result="int64"),
    "argmin": _reduce(1, result="int64"),
    "any": _reduce(1, result="bool"),
    "all": _reduce(1, result="bool"),
    "count_nonzero": _reduce(1, result="int64"),
    "logsumexp": _reduce(4),
    "linalg_vector_norm": _reduce(2, axes=2),
    "norm": _reduce(2, axes=2),
    "max": _extreme,
    "min": _extreme,
    "var": _spread(3, 1),
    "std": _spread(3, 1),
    "var_mean": _spread(3, 2),
    "std_mean": _spread(3, 2),
    "cumsum": _scan(1, result="sum"),
    "_cumsum": _scan(1, result="sum"),
    "cumprod": _scan(1, result="sum"),
    "_cumprod": _scan(1, result="sum"),
    "logcumsumexp": _scan(4),
    "_logcumsumexp": _scan(4),
    "cummax": _scan_with_indices,
    "cummin": _scan_with_indices,
    "_cummax_helper": _scan_with_indices,
    "_cummin_helper": _scan_with_indices,
    "_softmax": _softmax,
    "_log_softmax": _softmax,
    "softmax": _softmax,
    "log_softmax": _softmax,
    "_safe_softmax": _softmax,
    "_masked_softmax": _masked_softmax,
    "_softmax_backward_data": _softmax_backward(0),
    "_log_softmax_backward_data": _softmax_backward(1),
    "_cdist_forward": _distance,
}
