"""Launches that touch the scores of an attention written out as operators, found by their sizes."""

from __future__ import annotations

import re

import numpy as np

from boundby.distribution import distinct
from boundby.evidence.launched import Launched
from boundby.evidence.naming import Bools
from boundby.intervals import Ints
from boundby.roofline.arguments import MATRIX, MAX_ELEMENTS, VECTOR, Tensor

BATCHED = re.compile(r"^aten::(bmm|baddbmm)$")
PRODUCT = re.compile(r"^aten::(bmm|baddbmm|mm|addmm|_scaled_mm)$")
SOFTMAX = re.compile(r"^aten::(_softmax(_backward_data)?|_masked_softmax(_backward)?)$")
FALLBACK = re.compile(r"^aten::_scaled_dot_product_attention_math")
"""What fused attention falls back to: the program asks for it already."""
REACH = 24
"""Launches looked at on each side of a softmax: scale, mask, dropout, casts, products."""
NEAR = 6
"""Of these, where sizes were not recorded and nearness is all there is."""

UNSIZED, NO_TENSOR = -2, -1
OPERANDS = 3
"""Leading arguments looked at."""


def by_hand(launched: Launched) -> tuple[Ints, Bools]:
    """Launches of softmax between two batched products, and all launches of such attentions.

    With sizes these are the launches around a softmax over at least three dimensions that read or
    write as many elements, up to the first product that does not; without, everything up to the
    nearest batched product on each side.
    """
    middle = np.flatnonzero(launched.by(SOFTMAX) & ~launched.under(FALLBACK))
    inside = np.zeros(len(launched), dtype=np.bool_)
    if not len(middle) or not launched.by(BATCHED).any():
        return middle[:0], inside
    around = _Around(launched, middle)
    (before, first), (after, last) = around.walk(-1), around.walk(1)
    found = around.has_scores & first & last
    for launches, owner in (before, after):
        inside[launches[found[owner]]] = True
    inside[middle[found]] = True
    return middle[found], inside


class _Around:
    """The launches around each softmax, with the elements each reads and writes."""

    def __init__(self, launched: Launched, middle: Ints) -> None:
        near = distinct(middle[:, None] + np.arange(-REACH, REACH + 1))
        self.near = near[(near >= 0) & (near < len(launched))]
        self.middle, self.step = middle, launched.step
        self.softmax = launched.by(SOFTMAX)
        self.batched = launched.by(BATCHED) & launched.is_kernel
        self.product = launched.by(PRODUCT) & launched.is_kernel
        self.elements, rank = _elements(launched, self.near, self.batched)
        scores = np.searchsorted(self.near, middle)
        self.scores = self.elements[scores, 0]
        self.has_scores = (self.scores == UNSIZED) | (rank[scores] > MATRIX)

    def walk(self, direction: int) -> tuple[tuple[Ints, Ints], Bools]:
        """Launches that touch the scores on one side, as they are met going away.

        Returns:
            Launches and the softmax of each; and bool[len(middle)], whether one is a product.
        """
        going = np.ones(len(self.middle), dtype=np.bool_)
        found = np.zeros_like(going)
        launches, owners = [], []
        for distance in range(1, REACH + 1):
            at, going = self._next(direction * distance, going)
            unsized, touches = self._touches(at)
            mine = going & touches & (~unsized | (distance <= NEAR))
            launches.append(at[mine])
            owners.append(np.flatnonzero(mine))
            found |= mine & self.batched[at]
            going &= ~(self.product[at] & (unsized | ~touches)) & (~unsized | (distance < NEAR))
        return (np.concatenate(launches), np.concatenate(owners)), found

    def _next(self, offset: int, going: Bools) -> tuple[Ints, Bools]:
        """The launch that far from each softmax, and whether it may still belong to it."""
        wanted = self.middle + offset
        at = np.clip(wanted, 0, len(self.step) - 1)
        same = (at == wanted) & (self.step[at] == self.step[self.middle]) & ~self.softmax[at]
        return at, going & same

    def _touches(self, at: Ints) -> tuple[Bools, Bools]:
        """Whether sizes are missing on either side, and whether a launch moves the scores."""
        elements = self.elements[np.searchsorted(self.near, at)]
        unsized = (self.scores == UNSIZED) | (elements[:, 0] == UNSIZED)
        same = (elements == self.scores[:, None]).any(axis=1)
        return unsized, np.asarray(unsized | same)


def _elements(launched: Launched, near: Ints, batched: Bools) -> tuple[Ints, Ints]:
    """int64[k, OPERANDS + 1]: elements of the leading tensors and of a product's result; ranks."""
    key = launched.signatures()[near] * 2 + batched[near]
    keys, inverse = np.unique(key, return_inverse=True)
    rows = [_row(launched, *divmod(each, 2)) for each in keys.tolist()]
    table = np.array([elements for elements, _ in rows], dtype=np.int64)
    ranks = np.array([rank for _, rank in rows], dtype=np.int64)
    return table[inverse.reshape(-1)], ranks[inverse.reshape(-1)]


def _row(launched: Launched, signature: int, is_product: int) -> tuple[list[int], int]:
    tensors = _tensors(launched, signature)
    if not tensors:
        return [UNSIZED, *[NO_TENSOR] * OPERANDS], 0
    elements = [tensor.numel for tensor in tensors]
    elements += [NO_TENSOR] * (OPERANDS - len(tensors))
    written = _written(tensors) if is_product else NO_TENSOR
    return [*elements, written], len(tensors[0].shape)


def _written(tensors: list[Tensor]) -> int:
    """Elements of a product of the last two tensors."""
    if len(tensors) <= VECTOR:
        return NO_TENSOR
    a, b = tensors[-2:]
    if not a.shape or not b.shape:
        return NO_TENSOR
    return min(a.numel // max(a.shape[-1], 1) * b.shape[-1], MAX_ELEMENTS)


def _tensors(launched: Launched, signature: int) -> list[Tensor]:
    """Tensors among the leading arguments; none where they were not recorded."""
    arguments = launched.arguments(signature)
    if arguments is None:
        return []
    return [t for t in map(arguments.optional, range(OPERANDS)) if t is not None]
