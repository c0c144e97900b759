"""Shapes that fit a size: a guess where the sizes around it are consistent, else only a count."""

from __future__ import annotations

from math import isqrt

HEADS = (64, 128, 80, 96, 32, 40, 48, 72, 112, 256)
"""Sizes of an attention head, the common first."""

DTYPES = (("fp32", 4), ("bf16 or fp16", 2))


def elements(size: int) -> str:
    """How many numbers a size holds: ``1073741824 fp32 or 2147483648 bf16 or fp16 values``."""
    fitting = [f"{size // width} {name}" for name, width in DTYPES if size % width == 0]
    return " or ".join(fitting) + " values" if fitting else f"{size} bytes"


def score_shape(size: int, operands: list[int]) -> tuple[int, int, int, int] | None:
    """Batch times heads, sequence, sequence and head of attention scores that fit.

    Scores hold ``B*H*S*S`` numbers, queries and keys ``B*H*S*D``: their quotient is ``S / D``.

    Args:
        size: Bytes of the scores.
        operands: Bytes of blocks alive beside them, of the same type.
    """
    for operand in sorted(set(operands), reverse=True):
        if operand <= 0 or operand >= size or size % operand:
            continue
        for head in HEADS:
            sequence = size // operand * head
            rows, rest = divmod(size, 4 * sequence * sequence)
            if rows and not rest and 4 * rows * sequence * head == operand:
                return rows, sequence, sequence, head
    return None


def square(size: int, width: int = 4) -> int | None:
    """The side of a square matrix of that size; None where there is none."""
    side = isqrt(size // width)
    return side if side * side * width == size else None
