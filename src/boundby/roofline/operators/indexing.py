"""Lookups, gathers, scatters, sorting: what the indices touch, not the whole table.

Each index is taken to name another row until the table is exhausted; repeated indices move less.
Operators whose result size depends on the data count only what they must read.
"""

from __future__ import annotations

import math

from boundby.roofline.arguments import Arguments, Shape, Tensor
from boundby.roofline.costs import Cost, UncountedError, count
from boundby.roofline.dtypes import itemsize
from boundby.roofline.operators.rule import Rule, broadcast, moved, size, wrap


def _rows(table: Tensor, indices: int) -> float:
    """Bytes of ``indices`` rows of a table, each row once."""
    if not table.shape:
        raise UncountedError
    row = math.prod(table.shape[1:]) * itemsize(table.dtype)
    return min(indices, table.shape[0]) * row


def _embedding(arguments: Arguments) -> Cost:
    """``embedding(weight, indices, ...)``."""
    table, indices = arguments.tensor(0, 2), arguments.tensor(1)
    out = size((indices.numel, table.shape[1]), table.dtype)
    return count(0, moved(indices) + _rows(table, indices.numel) + out, table.dtype)


def _embedding_backward(arguments: Arguments) -> Cost:
    """``embedding_dense_backward(grad, indices, rows, ...)``: filling with zeros is its child."""
    grad, indices = arguments.tensor(0), arguments.tensor(1)
    touched = min(indices.numel, arguments.integer(2))
    written = size((touched, grad.shape[-1]), grad.dtype)
    return count(grad.numel, moved(grad, indices) + written, grad.dtype)


def _embedding_bag(arguments: Arguments) -> Cost:
    """``_embedding_bag(weight, indices, offsets, ...)``: one row a bag comes out."""
    table, indices, offsets = arguments.tensor(0, 2), arguments.tensor(1), arguments.tensor(2)
    out = size((offsets.numel, table.shape[1]), table.dtype)
    bytes_ = moved(indices, offsets) + _rows(table, indices.numel) + out
    return count(indices.numel * table.shape[1], bytes_, table.dtype)


def _index_select(arguments: Arguments) -> Cost:
    """``index_select(input, dim, index)``."""
    x, index = arguments.tensor(0), arguments.tensor(2)
    axis = wrap(arguments.integer(1), len(x.shape))
    shape = tuple(index.numel if i == axis else n for i, n in enumerate(x.shape))
    out = size(shape, x.dtype)
    return count(0, min(moved(x), out) + moved(index) + out, x.dtype)


def _gather(slot: int) -> Rule:
    """``gather(input, dim, index)``, ``take(input, index)``: as large as the index."""

    def rule(arguments: Arguments) -> Cost:
        x, index = arguments.tensor(0), arguments.tensor(slot)
        out = size(index.shape, x.dtype)
        return count(0, min(moved(x), out) + moved(index) + out, x.dtype)

    return rule


def _scatter(flops: int, *, in_place: bool) -> Rule:
    """``scatter_add(self, dim, index, source)``: in place, only touched elements move.

    Out of place the copy of ``self`` is a recorded child, so the same holds for both.
    """

    def rule(arguments: Arguments) -> Cost:
        x, index, source = arguments.tensor(0), arguments.tensor(2), arguments.optional(3)
        touched = min(size(x.shape, x.dtype), size(index.shape, x.dtype))
        read = touched if flops else 0.0
        whole = 0.0 if in_place else 2 * (size(x.shape, x.dtype) - touched)
        bytes_ = moved(index, source) + read + touched + whole
        return count(flops * index.numel, bytes_, x.dtype)

    return rule


def _index_rows(flops: int) -> Rule:
    """``index_add_(self, dim, index, source)``, ``index_copy_``."""

    def rule(arguments: Arguments) -> Cost:
        x, index, source = arguments.tensor(0), arguments.tensor(2), arguments.tensor(3)
        touched = min(size(x.shape, x.dtype), size(source.shape, x.dtype))
        bytes_ = moved(index, source) + touched * (2 if flops else 1)
        return count(flops * source.numel, bytes_, x.dtype)

    return rule


def _indexed_shape(x: Tensor, indices: tuple[Tensor, ...]) -> Shape:
    """Shape of ``x[i, j]``: the index shapes broadcast, then the dimensions left over."""
    if len(indices) > len(x.shape) or any(t.dtype in ("bool", "uint8") for t in indices):
        raise UncountedError
    return (*broadcast(t.shape for t in indices), *x.shape[len(indices) :])


def _index(arguments: Arguments) -> Cost:
    """``index(self, indices)``, where the sizes of the index tensors were recorded."""
    x, indices = arguments.tensor(0), arguments.tensors(1)
    out = size(_indexed_shape(x, indices), x.dtype)
    names = sum(t.distinct * 8 for t in indices)
    return count(0, min(moved(x), out) + names + out, x.dtype)


def _index_put(arguments: Arguments) -> Cost:
    """``index_put_(self, indices, values, accumulate)``."""
    x, values = arguments.tensor(0), arguments.tensor(2)
    indices = [t for group in arguments.lists() for t in group]
    shape = _indexed_shape(x, tuple(indices)) if indices else values.shape
    touched = min(size(shape, x.dtype), size(x.shape, x.dtype))
    names = sum(t.distinct * 8 for t in indices)
    accumulate = arguments.flag(3)
    bytes_ = names + moved(values) + touched * (2 if accumulate else 1)
    return count(math.prod(shape) if accumulate else 0, bytes_, x.dtype)


def _reads_input(arguments: Arguments) -> Cost:
    """The size of the result depends on the data: only the operands are counted."""
    tensors = [t for t in map(arguments.optional, range(2)) if t is not None]
    if not tensors:
        raise UncountedError
    return count(0, moved(*tensors), tensors[0].dtype)


def _sort(arguments: Arguments) -> Cost:
    """Values and int64 indices come out; comparisons are not floating-point operations."""
    x = arguments.tensor(0)
    bytes_ = moved(x) + size(x.shape, x.dtype) + size(x.shape, "int64")
    return count(0, bytes_, x.dtype)


def _argsort(arguments: Arguments) -> Cost:
    x = arguments.tensor(0)
    return count(0, moved(x) + size(x.shape, "int64"), x.dtype)


def _topk(arguments: Arguments) -> Cost:
    """``topk(input, k, dim, ...)``."""
    x = arguments.tensor(0)
    axis = wrap(arguments.integer(2, -1), len(x.shape))
    shape = tuple(arguments.integer(1) if i == axis else n for i, n in enumerate(x.shape))
    return count(0, moved(x) + size(shape, x.dtype) + size(shape, "int64"), x.dtype)


def _searchsorted(arguments: Arguments) -> Cost:
    """``bucketize(input, boundaries)`` and ``searchsorted(sorted, input)``."""
    a, b = arguments.tensor(0), arguments.tensor(1)
    larger = a if a.numel >= b.numel else b
    return count(0, moved(a, b) + size(larger.shape, "int64"), a.dtype)


RULES: dict[str, Rule] = {
    "embedding": _embedding,
    "embedding_dense_backward": _embedding_backward,
    "_embedding_bag": _embedding_bag,
    "_embedding_bag_forward_only": _embedding_bag,
    "index_select": _index_select,
    "gather": _gather(2),
    "take": _gather(1),
    "scatter": _scatter(0, in_place=False),
    "scatter_": _scatter(0, in_place=True),
    "scatter_add": _scatter(1, in_place=False),
    "scatter_add_": _scatter(1, in_place=True),
    "scatter_reduce": _scatter(1, in_place=False),
    "scatter_reduce_": _scatter(1, in_place=True),
    "index_add": _index_rows(1),
    "index_add_": _index_rows(1),
    "index_copy_": _index_rows(0),
    "index": _index,
    "_unsafe_index": _index,
    "index_put_": _index_put,
    "_index_put_impl_": _index_put,
    "nonzero": _reads_input,
    "masked_select": _reads_input,
    "unique_dim": _reads_input,
    "_unique": _reads_input,
    "_unique2": _reads_input,
    "unique_consecutive": _reads_input,
    "bincount": _reads_input,
    "histc": _reads_input,
    "repeat_interleave": _reads_input,
    "isin": _reads_input,
    "equal": _reads_input,
    "is_nonzero": _reads_input,
    "multinomial": _reads_input,
    "median": _reads_input,
    "kthvalue": _reads_input,
    "mode": _reads_input,
    "sort": _sort,
    "msort": _sort,
    "argsort": _argsort,
    "topk": _topk,
    "bucketize": _searchsorted,
    "searchsorted": _searchsorted,
}
