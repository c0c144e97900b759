"""What an operator must at least do: floating-point operations and bytes of device memory."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

Unit = Literal["matrix", "vector"]
"""Which unit does the arithmetic: the matrix unit (tensor core) may, or only the vector unit."""


@dataclass(frozen=True, slots=True)
class Cost:
    """The least work of one call of an operator.

    Attributes:
        flops: Floating-point operations, a multiply-add being two; None where uncounted.
        bytes: Bytes read and written if every distinct element moves once; None where uncounted.
        dtype: Element type of the arithmetic (``float32``, ``bfloat16``); empty where unknown.
        unit: ``matrix`` for matrix products, convolutions and attention, else ``vector``.
        special: Work of the special-function unit, in evaluations: exp is one; erf, whose code
            takes as long as five, is five.
        alike: Of the bytes, those of operands that look like an earlier one and may be the same
            tensor (``x * x``), which then moves once.

    What it cannot see: values that a cache still holds, and passes that an implementation adds.
    """

    flops: float | None
    bytes: float | None
    dtype: str = ""
    unit: Unit = "vector"
    special: float = 0.0
    alike: float = 0.0

    @property
    def intensity(self) -> float | None:
        """FLOP per byte, at most; None where either is uncounted or no byte moves."""
        if self.flops is None or not self.bytes:
            return None
        return self.flops / self.bytes

    @property
    def is_free(self) -> bool:
        """Whether the operator is known to do nothing on the device itself."""
        return self.flops == 0 and self.bytes == 0


FREE = Cost(0.0, 0.0)
"""A view or a container: known to cost nothing of its own, unlike an uncounted operator."""


class UncountedError(Exception):
    """The recorded arguments do not tell the cost; ``cost_of`` turns this into None."""


def count(
    flops: float, bytes_: float, dtype: str, unit: Unit = "vector", special: float = 0.0
) -> Cost:
    """A Cost from figures that may be NaN where an element type is unknown."""
    return Cost(
        flops=None if math.isnan(flops) else float(flops),
        bytes=None if math.isnan(bytes_) else float(bytes_),
        dtype=dtype,
        unit=unit,
        special=float(special),
    )
