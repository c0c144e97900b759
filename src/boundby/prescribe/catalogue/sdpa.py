"""Use fused attention."""

from __future__ import annotations

from boundby.prescribe.case import Case
from boundby.prescribe.prescription import Costs
from boundby.prescribe.readings import PAYS, of_device, over
from boundby.prescribe.rule import DEVICE, HOST, Risk, Rule, Turn

HOW = """\
# for softmax(q @ k.mT / d**0.5) @ v:
y = F.scaled_dot_product_attention(q, k, v)
# with what else stood between: attn_mask=mask, dropout_p=p, scale=s
# compare outputs AND gradients with the old version: boundby check
"""
MASKED = """\
# for softmax(q @ k.mT / d**0.5, masked) @ v:
y = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
# mask: True where to look, or what is added; a causal triangle: is_causal=True in its place
# compare outputs AND gradients with the old version: boundby check
"""

MIB = 1 << 20


def applies(case: Case) -> str | None:
    """Attention is written out as product, softmax, product."""
    attention = case.signs.attention
    if not over(attention.by_hand, PAYS):
        return None
    size = attention.score_bytes
    matrix = f"; its score matrix of {size / MIB:.0f} MiB is written and read again" if size else ""
    mask = " A mask stands between product and softmax." if attention.masked else ""
    return f"Attention by hand takes {attention.by_hand:.0%} of the device's time{matrix}.{mask}"


def most(case: Case) -> float | None:
    """All that it takes of the device."""
    return of_device(case, case.signs.attention.by_hand)


def fit(case: Case) -> str:
    """With a mask where one was seen, and without where not."""
    return MASKED if case.signs.attention.masked else HOW


RULE = Rule(
    id="sdpa",
    title="Use fused attention: F.scaled_dot_product_attention.",
    how=HOW,
    stop_when="no score matrix is written to memory any more",
    does_not_help="very short sequences; attention that must return its weights",
    applies=applies,
    attacks=(*DEVICE, *HOST),
    turn=Turn.FUSE,
    risk=Risk.SHAPES,
    edit="sdpa",
    most=most,
    fit=fit,
    answers=("attention",),
    costs=Costs(
        memory="less: no score matrix",
        numerics="another order of sums; with torch 2.11 the cuDNN backend was seen to give wrong "
        "gradients when their layout changes, so test gradients in the program itself",
        shapes="head sizes and masks the kernels support",
    ),
)
