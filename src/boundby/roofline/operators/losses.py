"""Loss functions: those that pick one class read one element a row, the others everything."""

from __future__ import annotations

import math

from boundby.roofline.arguments import Arguments
from boundby.roofline.costs import Cost, count
from boundby.roofline.dtypes import itemsize
from boundby.roofline.operators.rule import Rule, broadcast, moved, size

SECTOR = 32
"""Least bytes a device reads from memory at once (sector of NVIDIA and AMD caches)."""

UNREDUCED = "0"
"""``Reduction.none`` as recorded; 1 is mean, 2 is sum."""


def _nll(arguments: Arguments) -> Cost:
    """``nll_loss_forward(self, target, weight, reduction, ignore_index)``."""
    x, target = arguments.tensor(0), arguments.tensor(1)
    picked = min(target.numel * max(SECTOR, itemsize(x.dtype)), moved(x))
    out = size(target.shape, x.dtype) if arguments.text(3) == UNREDUCED else 0.0
    return count(2 * target.numel, picked + moved(target, arguments.optional(2)) + out, x.dtype)


def _nll_backward(arguments: Arguments) -> Cost:
    """``nll_loss_backward(grad, self, target, ...)``: filling with zeros is its child."""
    grad, x, target = (arguments.tensor(i) for i in range(3))
    written = target.numel * itemsize(x.dtype)
    return count(target.numel, moved(grad, target) + written, x.dtype)


def _cross_entropy(arguments: Arguments) -> Cost:
    """``cross_entropy_loss(self, target, ...)``: log-softmax in one pass, one element a row."""
    x, target = arguments.tensor(0), arguments.tensor(1)
    return count(5 * x.numel, moved(x, target), x.dtype, special=x.numel)


def _pairwise(flops: int, special: int, *, weighted: bool = False) -> Rule:
    """Elementwise losses: the mean or sum over the unreduced result is a recorded child."""

    def rule(arguments: Arguments) -> Cost:
        x, target = arguments.tensor(0), arguments.tensor(1)
        shape = broadcast([x.shape, target.shape])
        weight = arguments.optional(2) if weighted else None
        bytes_ = moved(x, target, weight) + size(shape, x.dtype)
        elements = math.prod(shape)
        return count(flops * elements, bytes_, x.dtype, special=special * elements)

    return rule


RULES: dict[str, Rule] = {
    "nll_loss": _nll,
    "nll_loss_forward": _nll,
    "nll_loss2d_forward": _nll,
    "nll_loss_backward": _nll_backward,
    "nll_loss2d_backward": _nll_backward,
    "cross_entropy_loss": _cross_entropy,
    "mse_loss": _pairwise(2, 0),
    "l1_loss": _pairwise(2, 0),
    "smooth_l1_loss": _pairwise(4, 0),
    "huber_loss": _pairwise(4, 0),
    "binary_cross_entropy": _pairwise(7, 2, weighted=True),
    "binary_cross_entropy_with_logits": _pairwise(8, 3, weighted=True),
    "soft_margin_loss": _pairwise(4, 2),
}
