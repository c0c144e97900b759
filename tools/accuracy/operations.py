"""Operations of products, convolutions and attention, worked out by hand, against the count."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import msgspec

from boundby.read.recording import Signature
from boundby.roofline.operators import cost_of
from tools.accuracy.markdown import table, yes

Slot = tuple[int, ...] | str
"""A tensor by its sizes, or a scalar as recorders write it."""

NO = "False"
FORWARD = ("[1, 1]", "[0, 0]", "[1, 1]", NO, "[0, 0]", "1")
"""Stride, padding, dilation, transposed, output padding, groups of a plain convolution."""


@dataclass(frozen=True)
class Case:
    """One call.

    Attributes:
        operator: Without ``aten::``.
        what: The shape in words.
        slots: Arguments in the order of the schema.
        flops: By hand, a multiply-add being two.
    """

    operator: str
    what: str
    slots: Sequence[Slot]
    flops: float

    @property
    def counted(self) -> float | None:
        """What boundby counts; None where it counts nothing."""
        sizes = [slot if isinstance(slot, tuple) else () for slot in self.slots]
        types = ["c10::BFloat16" if isinstance(slot, tuple) else "Scalar" for slot in self.slots]
        texts = [slot if isinstance(slot, str) else "" for slot in self.slots]
        raw = (msgspec.json.encode(column) for column in (sizes, types, (), texts))
        cost = cost_of(f"aten::{self.operator}", Signature(*raw))
        return None if cost is None else cost.flops


def _conv(what: str, x: tuple[int, ...], weight: tuple[int, ...], flops: float, *how: str) -> Case:
    """``convolution(input, weight, bias, stride, padding, dilation, transposed, ..., groups)``."""
    return Case("convolution", what, [x, weight, "", *(how or FORWARD)], flops)


def _conv_back(
    what: str, grad: tuple[int, ...], x: tuple[int, ...], weight: tuple[int, ...], *rest: object
) -> Case:
    """``convolution_backward(grad, input, weight, ..., groups, output_mask)``."""
    mask, groups, flops = rest
    how = ["[0]", "[1, 1]", "[1, 1]", "[1, 1]", NO, "[0, 0]", str(groups), str(mask)]
    return Case("convolution_backward", what, [grad, x, weight, *how], float(str(flops)))


PRODUCTS = (
    Case("mm", "8192 x 8192 x 8192", [(8192, 8192), (8192, 8192)], 2 * 8192**3),
    Case("mm", "4096 x 11008 x 4096", [(4096, 11008), (11008, 4096)], 2 * 4096 * 11008 * 4096),
    Case("mm", "one token: 1 x 4096 x 32000", [(1, 4096), (4096, 32000)], 2 * 4096 * 32000),
    Case("mm", "odd: 17 x 31 x 43", [(17, 31), (31, 43)], 2 * 17 * 31 * 43),
    Case("addmm", "64 x 512 rows, 512 to 2048", [(2048,), (32768, 512), (512, 2048)],
         2 * 32768 * 512 * 2048),
    Case("addmm", "classifier: 256 x 768 to 1000", [(1000,), (256, 768), (768, 1000)],
         2 * 256 * 768 * 1000),
    Case("_addmm_activation", "32 x 1024 to 4096", [(4096,), (32, 1024), (1024, 4096)],
         2 * 32 * 1024 * 4096),
    Case("bmm", "512 heads, scores of 512 x 64", [(512, 512, 64), (512, 64, 512)],
         2 * 512 * 512 * 512 * 64),
    Case("bmm", "512 heads, values", [(512, 512, 512), (512, 512, 64)], 2 * 512 * 512 * 512 * 64),
    Case("bmm", "decoding: 32 heads, 1 query", [(32, 1, 128), (32, 128, 2048)],
         2 * 32 * 128 * 2048),
    Case("baddbmm", "16 x 128 x 64 x 128", [(16, 128, 128), (16, 128, 64), (16, 64, 128)],
         2 * 16 * 128 * 64 * 128),
    Case("linear", "8 x 512 tokens, 768 to 3072", [(8, 512, 768), (3072, 768), (3072,)],
         2 * 8 * 512 * 768 * 3072),
    Case("linear", "without bias, 1 token", [(1, 1, 4096), (4096, 4096)], 2 * 4096 * 4096),
    Case("matmul", "broadcast: 8 x 12 x 64 x 32 by 32 x 16", [(8, 12, 64, 32), (32, 16)],
         2 * 8 * 12 * 64 * 32 * 16),
    Case("mv", "4096 x 1024", [(4096, 1024), (1024,)], 2 * 4096 * 1024),
    Case("_scaled_mm", "1024 x 2048 x 512", [(1024, 2048), (2048, 512), (1,), (1,)],
         2 * 1024 * 2048 * 512),
)  # fmt: skip
CONVOLUTIONS = (
    _conv("stem of a ResNet: 7 x 7, stride 2, padding 3", (32, 3, 224, 224), (64, 3, 7, 7),
          2 * 32 * 64 * 112 * 112 * 3 * 49,
          "[2, 2]", "[3, 3]", "[1, 1]", NO, "[0, 0]", "1"),
    _conv("3 x 3, padding 1", (32, 256, 14, 14), (256, 256, 3, 3),
          2 * 32 * 256 * 14 * 14 * 256 * 9,
          "[1, 1]", "[1, 1]", "[1, 1]", NO, "[0, 0]", "1"),
    _conv("3 x 3, no padding", (8, 64, 56, 56), (64, 64, 3, 3), 2 * 8 * 64 * 54 * 54 * 64 * 9),
    _conv("1 x 1", (32, 256, 56, 56), (64, 256, 1, 1), 2 * 32 * 64 * 56 * 56 * 256),
    _conv("1 x 1, stride 2", (32, 256, 56, 56), (512, 256, 1, 1), 2 * 32 * 512 * 28 * 28 * 256,
          "[2, 2]", "[0, 0]", "[1, 1]", NO, "[0, 0]", "1"),
    _conv("dilation 2", (4, 64, 65, 65), (64, 64, 3, 3), 2 * 4 * 64 * 61 * 61 * 64 * 9,
          "[1, 1]", "[0, 0]", "[2, 2]", NO, "[0, 0]", "1"),
    _conv("32 groups", (16, 128, 28, 28), (128, 4, 3, 3), 2 * 16 * 128 * 28 * 28 * 4 * 9,
          "[1, 1]", "[1, 1]", "[1, 1]", NO, "[0, 0]", "32"),
    _conv("depthwise", (16, 96, 56, 56), (96, 1, 3, 3), 2 * 16 * 96 * 56 * 56 * 9,
          "[1, 1]", "[1, 1]", "[1, 1]", NO, "[0, 0]", "96"),
    _conv("patches of a ViT: 16 x 16", (64, 3, 224, 224), (768, 3, 16, 16),
          2 * 64 * 768 * 14 * 14 * 3 * 256,
          "[16, 16]", "[0, 0]", "[1, 1]", NO, "[0, 0]", "1"),
    _conv("transposed, 4 x 4, stride 2, padding 1", (8, 128, 16, 16), (128, 64, 4, 4),
          2 * 8 * 16 * 16 * 128 * 64 * 16,
          "[2, 2]", "[1, 1]", "[1, 1]", "True", "[0, 0]", "1"),
    _conv("one dimension, 80 to 512 channels", (4, 80, 3000), (512, 80, 3),
          2 * 4 * 512 * 3000 * 80 * 3, "[1]", "[1]", "[1]", NO, "[0]", "1"),
    _conv("three dimensions", (2, 16, 8, 32, 32), (32, 16, 3, 3, 3),
          2 * 2 * 32 * 8 * 32 * 32 * 16 * 27,
          "[1, 1, 1]", "[1, 1, 1]", "[1, 1, 1]", NO, "[0, 0, 0]", "1"),
    _conv_back("both gradients of 3 x 3", (32, 256, 14, 14), (32, 256, 14, 14), (256, 256, 3, 3),
               "[True, True, False]", 1, 2 * 2 * 32 * 256 * 14 * 14 * 256 * 9),
    _conv_back("gradient of the weight alone", (32, 256, 14, 14), (32, 256, 14, 14),
               (256, 256, 3, 3), "[False, True, False]", 1, 2 * 32 * 256 * 14 * 14 * 256 * 9),
    _conv_back("both gradients, depthwise", (16, 96, 56, 56), (16, 96, 56, 56), (96, 1, 3, 3),
               "[True, True, False]", 96, 2 * 2 * 16 * 96 * 56 * 56 * 9),
)  # fmt: skip

HEADS = (16, 12, 1024, 64)
"""Batch, heads, tokens, width."""
TOKENS = (16, 1024, 12, 64)
"""The same with tokens first."""
SCORES = 2 * 16 * 12 * 1024 * 1024 * 64
"""Operations of one product over the scores."""
ATTENTION = (
    Case("scaled_dot_product_attention", "16 x 12 x 1024 x 64", [HEADS] * 3 + ["", "0.", NO],
         2 * SCORES),
    Case("scaled_dot_product_attention", "causal", [HEADS] * 3 + ["", "0.", "True"], SCORES),
    Case("scaled_dot_product_attention", "one query over 2048 keys",
         [(8, 32, 1, 128), (8, 32, 2048, 128), (8, 32, 2048, 128), "", "0.", NO],
         2 * 2 * 8 * 32 * 2048 * 128),
    Case("_scaled_dot_product_flash_attention", "16 x 12 x 1024 x 64", [HEADS] * 3 + ["0.", NO],
         2 * SCORES),
    Case("_scaled_dot_product_flash_attention", "causal", [HEADS] * 3 + ["0.", "True"], SCORES),
    Case("_scaled_dot_product_efficient_attention", "causal",
         [HEADS] * 3 + ["", "True", "0.", "True"], SCORES),
    Case("_scaled_dot_product_cudnn_attention", "16 x 12 x 1024 x 64",
         [HEADS] * 3 + ["", "True", "0.", NO], 2 * SCORES),
    Case("_flash_attention_forward", "tokens first, causal",
         [TOKENS] * 3 + ["", "", "1024", "1024", "0.", "True"], SCORES),
    Case("_flash_attention_forward", "grouped queries: 8 of 32 heads hold keys",
         [(1, 4096, 32, 128), (1, 4096, 8, 128), (1, 4096, 8, 128), "", "", "4096", "4096", "0.",
          "True"], 2 * 32 * 4096 * 4096 * 128),
    Case("_flash_attention_backward", "five products",
         [TOKENS] * 5 + [(16, 12, 1024), "", "", "1024", "1024", "0.", NO], 5 * SCORES),
    Case("_flash_attention_backward", "causal: half of each",
         [TOKENS] * 5 + [(16, 12, 1024), "", "", "1024", "1024", "0.", "True"], 2.5 * SCORES),
    Case("_efficient_attention_forward", "no mask",
         [TOKENS] * 3 + ["", "", "", "", "", "0.", "0"], 2 * SCORES),
)  # fmt: skip
CASES = (*PRODUCTS, *CONVOLUTIONS, *ATTENTION)


def exact(cases: Sequence[Case] = CASES) -> list[Case]:
    """Those whose count is what it should be, to the last operation."""
    return [case for case in cases if case.counted == case.flops]


def rows(cases: Sequence[Case] = CASES) -> list[str]:
    """One row a call."""
    return table(
        ("operator", "shape", "operations by hand", "counted", "exact"),
        [
            (
                case.operator,
                case.what,
                f"{case.flops:.0f}",
                "not counted" if case.counted is None else f"{case.counted:.0f}",
                yes(case.counted == case.flops),
            )
            for case in cases
        ],
    )
