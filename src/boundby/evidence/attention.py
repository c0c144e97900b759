"""Attention: by hand or fused, and whether a prefix is computed again and again."""

from __future__ import annotations

import math
import re
from itertools import pairwise

import numpy as np

from boundby.evidence.kernels import KernelTime
from boundby.evidence.launched import Launched, nodes_named
from boundby.evidence.phases import BACKWARD
from boundby.evidence.scores import BATCHED, by_hand
from boundby.frozen import frozen
from boundby.intervals import Ints
from boundby.roofline.families import Family, classify_kernel

FORWARD_SOFTMAX = re.compile(r"^aten::(_softmax|_masked_softmax)$")
CALLS = re.compile(r"^aten::(scaled_dot_product_attention|_softmax)$")
MASKS = re.compile(r"^aten::(where|masked_fill_?|_masked_softmax|tril_?|triu_?|add_?)$")
"""Operators that mask scores, or add a mask or a bias to them; the softmax may be one itself."""
GROWS = 3
"""Different lengths, each longer than the one before, from which a sequence grows."""


@frozen
class Attention:
    """How attention runs.

    Attributes:
        by_hand: Share of device time in score products, softmax and value products that are
            separate kernels, of forward and backward.
        score_bytes: Bytes of the largest score matrix written out.
        calls: Attentions by hand a step.
        masked: Whether scores are masked, or something is added to them, between product and
            softmax of an attention by hand.
        fused: Whether a fused attention kernel ran.
        recomputes_prefix: Whether queries grow from call to call as the keys do: no KV cache;
            None where sizes were not recorded.
    """

    by_hand: float | None = None
    score_bytes: float | None = None
    calls: float | None = None
    masked: bool | None = None
    fused: bool | None = None
    recomputes_prefix: bool | None = None


def find_attention(launched: Launched, kernels: KernelTime) -> Attention:
    """Attention in the steps; all None without kernels."""
    if not kernels.total:
        return Attention()
    middle, inside = by_hand(launched)
    forward = middle[launched.by(FORWARD_SOFTMAX)[middle]]
    sizes = [size for row in forward.tolist() if (size := _first_bytes(launched, row))]
    return Attention(
        by_hand=float(launched.work[inside].sum() / kernels.total),
        score_bytes=max(sizes, default=None),
        calls=len(forward) / launched.steps,
        masked=_masked(launched, forward),
        fused=kernels.share(lambda name: classify_kernel(name) is Family.ATTENTION) > 0,
        recomputes_prefix=_recomputes_prefix(launched),
    )


def _masked(launched: Launched, softmax: Ints) -> bool:
    """Whether a launch that masks or adds stands between a softmax and the product before it."""
    product = np.flatnonzero(launched.by(BATCHED) & launched.is_kernel)
    if not len(softmax):
        return False
    first = product[np.searchsorted(product, softmax) - 1]
    before = np.concatenate(([0], np.cumsum(launched.by(MASKS))))
    return bool((before[softmax + 1] > before[first + 1]).any())


def _first_bytes(launched: Launched, launch: int) -> float:
    arguments = launched.arguments(int(launched.signatures()[launch]))
    tensor = arguments.optional(0) if arguments else None
    return tensor.bytes if tensor and not math.isnan(tensor.bytes) else 0.0


def _recomputes_prefix(launched: Launched) -> bool | None:
    """Whether the query length of attention calls equals the key length and only grows."""
    if len(nodes_named(launched, BACKWARD)):
        return False
    recording, tree = launched.timeline.recording, launched.tree
    nodes = nodes_named(launched, CALLS)
    lengths: list[tuple[int, int]] = []
    for index in recording.host.signature[tree.row[nodes]].tolist():
        found = _lengths(launched, index)
        if found and (not lengths or lengths[-1] != found):
            lengths.append(found)
    if not lengths:
        return None
    grows = all(a[0] < b[0] for a, b in pairwise(lengths))
    return grows and len(lengths) >= GROWS and all(query == key for query, key in lengths)


def _lengths(launched: Launched, index: int) -> tuple[int, int] | None:
    """Query and key length of one call."""
    arguments = launched.arguments(index)
    if arguments is None:
        return None
    first, second = arguments.optional(0), arguments.optional(1)
    if first is None or len(first.shape) < 2:  # noqa: PLR2004 - rows and columns
        return None
    if second is None:
        return first.shape[-2], first.shape[-1]
    return (first.shape[-2], second.shape[-2]) if len(second.shape) > 1 else None
