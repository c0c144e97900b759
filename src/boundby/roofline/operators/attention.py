"""Scaled dot product attention: the score matrix is computed, and never moved.

Forward: two products (Q K^T and P V); backward: five (the scores again, and dV, dP, dQ, dK), as in
torch.utils.flop_counter; softmax is left out. A causal mask leaves half of a square score matrix.
The math backend needs no rule of its own: its products and softmax are recorded operators.
"""

from __future__ import annotations

from typing import Literal

from boundby.frozen import frozen
from boundby.roofline.arguments import BATCH, IMAGES, Arguments, Tensor
from boundby.roofline.costs import Cost, UncountedError, count
from boundby.roofline.operators.rule import Rule, moved, size

Layout = Literal["heads first", "tokens first"]
"""``[batch, heads, tokens, width]``, or ``[batch, tokens, heads, width]`` (also packed)."""
Mask = Literal["none", "top left", "bottom right"]
"""Which corner of the score matrix a causal mask starts in."""


@frozen
class Extent:
    """Sizes of one attention call: sequences, heads, queries and keys of a sequence, widths."""

    batch: float
    heads: int
    queries: float
    keys: float
    width: int
    value_width: int

    def pairs(self, mask: Mask) -> float:
        """Scores of one head and sequence that are needed; a triangle counts half its square."""
        q, k = self.queries, self.keys
        if mask == "none":
            return q * k
        if mask == "top left":
            return q * q / 2 if q <= k else k * q - k * k / 2
        return k * k / 2 if k <= q else q * k - q * q / 2

    def flops(self, mask: Mask, *, backward: bool = False) -> float:
        """Operations of the forward pass, or of the backward pass alone."""
        inner = 3 * self.width + 2 * self.value_width if backward else self.width + self.value_width
        return 2 * self.batch * self.heads * self.pairs(mask) * inner


def _extent(q: Tensor, k: Tensor, v: Tensor, layout: Layout, sequences: int = 0) -> Extent:
    """Sizes from the operands.

    Packed operands (``[tokens, heads, width]``, or with a batch of one) are taken as ``sequences``
    equal ones: a lower bound of the operations where queries and keys have equal lengths.
    """
    if not len(q.shape) == len(k.shape) == len(v.shape):
        raise UncountedError
    packed = len(q.shape) == BATCH or (sequences > 0 and q.shape[0] == 1)
    if packed and layout == "tokens first" and sequences > 0:
        tokens = q.shape[-3] / sequences, k.shape[-3] / sequences
        return Extent(sequences, q.shape[-2], *tokens, q.shape[-1], v.shape[-1])
    if len(q.shape) != IMAGES:
        raise UncountedError
    head, token = (1, 2) if layout == "heads first" else (2, 1)
    return Extent(
        batch=q.shape[0],
        heads=q.shape[head],
        queries=q.shape[token],
        keys=k.shape[token],
        width=q.shape[3],
        value_width=v.shape[3],
    )


def _sequences(arguments: Arguments, index: int) -> int:
    """Sequences in a packed call, from the offsets in one slot; 0 where not packed."""
    offsets = arguments.optional(index)
    return offsets.shape[0] - 1 if offsets is not None and len(offsets.shape) == 1 else 0


def _forward(
    arguments: Arguments, layout: Layout, mask: Mask, *, sequences: int = 0, bias: int | None = None
) -> Cost:
    q, k, v = (arguments.tensor(i) for i in range(3))
    extent = _extent(q, k, v, layout, sequences)
    out = (*q.shape[:-1], v.shape[-1])
    extra = None if bias is None else arguments.optional(bias)
    return count(extent.flops(mask), moved(q, k, v, extra) + size(out, q.dtype), q.dtype, "matrix")


def _backward(
    arguments: Arguments, layout: Layout, mask: Mask, *, sequences: int = 0, out: int = 4
) -> Cost:
    """Reads grad, q, k, v and the output; writes the gradients of q, k, v."""
    grad, q, k, v = (arguments.tensor(i) for i in range(4))
    extent = _extent(q, k, v, layout, sequences)
    written = sum(size(tensor.shape, tensor.dtype) for tensor in (q, k, v))
    bytes_ = moved(grad, q, k, v, arguments.optional(out)) + written
    return count(extent.flops(mask, backward=True), bytes_, q.dtype, "matrix")


def _causal(arguments: Arguments, index: int, corner: Mask = "top left") -> Mask:
    if not arguments.text(index):
        raise UncountedError
    return corner if arguments.flag(index) else "none"


def _efficient_mask(arguments: Arguments, index: int) -> Mask:
    """Mask types of memory-efficient attention: 0 none, 1 from top left, 2 from bottom right."""
    kinds: dict[int, Mask] = {0: "none", 1: "top left", 2: "bottom right"}
    return kinds.get(arguments.integer(index, 0), "none")


def _sdpa(causal: int, bias: int | None = None) -> Rule:
    return lambda a: _forward(a, "heads first", _causal(a, causal), bias=bias)


def _sdpa_backward(causal: int, out: int = 4) -> Rule:
    return lambda a: _backward(a, "heads first", _causal(a, causal), out=out)


def _flash(arguments: Arguments) -> Cost:
    mask = _causal(arguments, 8, "bottom right")
    return _forward(arguments, "tokens first", mask, sequences=_sequences(arguments, 3))


def _flash_backward(arguments: Arguments) -> Cost:
    mask = _causal(arguments, 11, "bottom right")
    return _backward(arguments, "tokens first", mask, sequences=_sequences(arguments, 6))


def _efficient(arguments: Arguments) -> Cost:
    """The mask type is slot 9, or 8 before maximal lengths of both sides were passed."""
    index = 9 if arguments.text(8).strip() not in ("0", "1", "2") else 8
    mask = _efficient_mask(arguments, index)
    packed = _sequences(arguments, 4)
    return _forward(arguments, "tokens first", mask, sequences=packed, bias=3)


def _efficient_backward(arguments: Arguments) -> Cost:
    mask = _efficient_mask(arguments, 14)
    return _backward(arguments, "tokens first", mask, out=5)


def _cudnn(arguments: Arguments) -> Cost:
    return _forward(arguments, "heads first", _causal(arguments, 10), bias=3)


def _package(causal: int, offsets: int | None = None) -> Rule:
    """The flash-attn package's own operators."""

    def rule(arguments: Arguments) -> Cost:
        mask = _causal(arguments, causal, "bottom right")
        packed = 0 if offsets is None else _sequences(arguments, offsets)
        return _forward(arguments, "tokens first", mask, sequences=packed)

    return rule


def _package_backward(causal: int, offsets: int | None = None) -> Rule:
    def rule(arguments: Arguments) -> Cost:
        mask = _causal(arguments, causal, "bottom right")
        packed = 0 if offsets is None else _sequences(arguments, offsets)
        return _backward(arguments, "tokens first", mask, sequences=packed)

    return rule


RULES: dict[str, Rule] = {
    "scaled_dot_product_attention": _sdpa(5, bias=3),
    "_scaled_dot_product_flash_attention": _sdpa(4),
    "_scaled_dot_product_flash_attention_for_cpu": _sdpa(4),
    "_scaled_dot_product_efficient_attention": _sdpa(6, bias=3),
    "_scaled_dot_product_cudnn_attention": _sdpa(6, bias=3),
    "_scaled_dot_product_fused_attention_overrideable": _sdpa(5, bias=3),
    "_scaled_dot_product_flash_attention_backward": _sdpa_backward(11),
    "_scaled_dot_product_flash_attention_for_cpu_backward": _sdpa_backward(7),
    "_scaled_dot_product_efficient_attention_backward": _sdpa_backward(11, out=5),
    "_scaled_dot_product_cudnn_attention_backward": _sdpa_backward(14),
    "_scaled_dot_product_fused_attention_overrideable_backward": _sdpa_backward(13, out=6),
    "_flash_attention_forward": _flash,
    "_flash_attention_backward": _flash_backward,
    "_efficient_attention_forward": _efficient,
    "_efficient_attention_backward": _efficient_backward,
    "_cudnn_attention_forward": _cudnn,
    "_cudnn_attention_backward": _sdpa_backward(14),
    "flash_attn::_flash_attn_forward": _package(5),
    "flash_attn::_flash_attn_varlen_forward": _package(9, offsets=3),
    "flash_attn::_flash_attn_backward": _package_backward(11),
    "flash_attn::_flash_attn_varlen_backward": _package_backward(15, offsets=9),
}
"""Slots of flags as in native_functions.yaml of torch 2.11 and flash_attn_interface.py 2.8."""
