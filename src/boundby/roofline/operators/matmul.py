"""Matrix products: 2 m n k operations, every operand read once, the product written once.

A bias or an epilogue adds m n operations, which are left out as in torch.utils.flop_counter.
"""

from __future__ import annotations

import math

from boundby.roofline.arguments import BATCH, MATRIX, VECTOR, Arguments, Shape, Tensor
from boundby.roofline.costs import Cost, UncountedError, count
from boundby.roofline.operators.rule import Rule, broadcast, moved, size


def _product(a: Tensor, b: Tensor, out: Shape, inner: int, *others: Tensor | None) -> Cost:
    """The cost of ``a @ b`` with the output of shape ``out`` and a common dimension ``inner``."""
    packed = 2 if a.dtype == "float4" else 1
    flops = 2 * math.prod(out) * inner * packed
    bytes_ = moved(a, b, *others) + size(out, a.dtype)
    return count(flops, bytes_, a.dtype, "matrix")


def _matched(a: Tensor, b: Tensor) -> int:
    if a.shape[-1] != b.shape[-2]:
        raise UncountedError
    return a.shape[-1]


def _mm(arguments: Arguments) -> Cost:
    a, b = arguments.tensor(0, MATRIX), arguments.tensor(1, MATRIX)
    return _product(a, b, (a.shape[0], b.shape[1]), _matched(a, b))


def _addmm(arguments: Arguments) -> Cost:
    a, b = arguments.tensor(1, MATRIX), arguments.tensor(2, MATRIX)
    bias = None if arguments.text(3) in ("0", "0.") else arguments.tensor(0)
    return _product(a, b, (a.shape[0], b.shape[1]), _matched(a, b), bias)


def _bmm(arguments: Arguments) -> Cost:
    a, b = arguments.tensor(0, BATCH), arguments.tensor(1, BATCH)
    return _product(a, b, (a.shape[0], a.shape[1], b.shape[2]), _matched(a, b))


def _baddbmm(arguments: Arguments) -> Cost:
    a, b = arguments.tensor(1, BATCH), arguments.tensor(2, BATCH)
    bias = None if arguments.text(3) in ("0", "0.") else arguments.tensor(0)
    return _product(a, b, (a.shape[0], a.shape[1], b.shape[2]), _matched(a, b), bias)


def _addbmm(arguments: Arguments) -> Cost:
    bias, a, b = arguments.tensor(0), arguments.tensor(1, BATCH), arguments.tensor(2, BATCH)
    return _product(a, b, (a.shape[1], b.shape[2]), a.shape[0] * _matched(a, b), bias)


def _mv(arguments: Arguments) -> Cost:
    a, b = arguments.tensor(0, MATRIX), arguments.tensor(1, VECTOR)
    return _product(a, b, (a.shape[0],), a.shape[1])


def _addmv(arguments: Arguments) -> Cost:
    bias, a, b = arguments.tensor(0), arguments.tensor(1, MATRIX), arguments.tensor(2, VECTOR)
    return _product(a, b, (a.shape[0],), a.shape[1], bias)


def _dot(arguments: Arguments) -> Cost:
    a, b = arguments.tensor(0, VECTOR), arguments.tensor(1, VECTOR)
    return _product(a, b, (), a.shape[0])


def _outer(arguments: Arguments) -> Cost:
    a, b = arguments.tensor(0, VECTOR), arguments.tensor(1, VECTOR)
    shape = (a.shape[0], b.shape[0])
    return count(a.numel * b.numel, moved(a, b) + size(shape, a.dtype), a.dtype)


def _addr(arguments: Arguments) -> Cost:
    bias, a, b = arguments.tensor(0), arguments.tensor(1, VECTOR), arguments.tensor(2, VECTOR)
    shape = (a.shape[0], b.shape[0])
    return count(2 * a.numel * b.numel, moved(bias, a, b) + size(shape, a.dtype), a.dtype)


def _linear(arguments: Arguments) -> Cost:
    a, weight = arguments.tensor(0), arguments.tensor(1, MATRIX)
    if not a.shape or a.shape[-1] != weight.shape[1]:
        raise UncountedError
    out = (*a.shape[:-1], weight.shape[0])
    return _product(a, weight, out, a.shape[-1], arguments.optional(2))


def _matmul(arguments: Arguments) -> Cost:
    """General ``@``: a vector operand has its dimension added and taken away again."""
    a, b = arguments.tensor(0), arguments.tensor(1)
    if not a.shape or not b.shape:
        raise UncountedError
    left = a.shape if len(a.shape) > 1 else (1, *a.shape)
    right = b.shape if len(b.shape) > 1 else (*b.shape, 1)
    if left[-1] != right[-2]:
        raise UncountedError
    batch = broadcast([left[:-2], right[:-2]])
    return _product(a, b, (*batch, left[-2], right[-1]), left[-1])


def _scaled_mm(arguments: Arguments) -> Cost:
    """Float8 product; the output type is slot 6, or slot 3 before torch 2.5."""
    a, b = arguments.tensor(0, MATRIX), arguments.tensor(1, MATRIX)
    scales = [arguments.optional(i) for i in range(2, len(arguments.slots))]
    shape = (a.shape[0], b.shape[1])
    out = arguments.dtype(6, "") or arguments.dtype(3, "") or "bfloat16"
    product = _product(a, b, shape, _matched(a, b))
    bytes_ = moved(a, b, *scales) + size(shape, out)
    return count(product.flops or 0.0, bytes_, a.dtype, "matrix")


def _grouped_mm(arguments: Arguments) -> Cost:
    """Products of row groups: every row meets one group's matrix, whatever the offsets are."""
    a, b = arguments.tensor(0), arguments.tensor(1)
    ranks = len(a.shape), len(b.shape)
    if not set(ranks) <= {MATRIX, BATCH}:
        raise UncountedError
    if ranks == (MATRIX, MATRIX):  # the groups cut the common dimension: one product each
        offsets = next((t for t in map(arguments.optional, range(2, 6)) if t is not None), None)
        groups = offsets.shape[0] if offsets is not None and len(offsets.shape) == VECTOR else 1
        flops = 2 * a.shape[0] * b.shape[1] * _matched(a, b)
        out = size((groups, a.shape[0], b.shape[1]), "bfloat16")
        return count(flops, moved(a, b) + out, a.dtype, "matrix")
    rows = a.shape[:-1] if ranks[1] == BATCH else a.shape[1:-1]
    shape = (*rows, b.shape[-1])
    flops = 2 * math.prod(shape) * _matched(a, b)
    return count(flops, moved(a, b) + size(shape, "bfloat16"), a.dtype, "matrix")


def _int_mm(arguments: Arguments) -> Cost:
    a, b = arguments.tensor(0, MATRIX), arguments.tensor(1, MATRIX)
    shape = (a.shape[0], b.shape[1])
    flops = 2 * math.prod(shape) * _matched(a, b)
    return count(flops, moved(a, b) + size(shape, "int32"), "int8", "matrix")


RULES: dict[str, Rule] = {
    "mm": _mm,
    "addmm": _addmm,
    "_addmm_activation": _addmm,
    "bmm": _bmm,
    "baddbmm": _baddbmm,
    "addbmm": _addbmm,
    "mv": _mv,
    "addmv": _addmv,
    "dot": _dot,
    "vdot": _dot,
    "outer": _outer,
    "ger": _outer,
    "addr": _addr,
    "linear": _linear,
    "matmul": _matmul,
    "_scaled_mm": _scaled_mm,
    "_grouped_mm": _grouped_mm,
    "_scaled_grouped_mm": _grouped_mm,
    "_int_mm": _int_mm,
}
RULES |= {f"{name}_": RULES[name] for name in ("addmm", "addmv", "addbmm", "baddbmm", "addr")}
