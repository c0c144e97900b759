"""Attention: by hand or fused, and whether a prefix is computed again and again."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Attention:
    """How attention runs.

    Attributes:
        by_hand: Share of device time in score products, softmax and value products that are
            separate kernels.
        score_bytes: Bytes of the largest score matrix written out.
        calls: Attentions by hand a step.
        fused: Whether a fused attention kernel ran.
        recomputes_prefix: Whether queries grow with each step as the keys do: no KV cache.
    """

    by_hand: float | None = None
    score_bytes: float | None = None
    calls: float | None = None
    fused: bool | None = None
    recomputes_prefix: bool | None = None
