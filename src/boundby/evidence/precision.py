"""In which precision matrix products and convolutions run, by the names of their kernels."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Precision:
    """Shares of device time.

    Attributes:
        products: Matrix products and convolutions of any precision.
        fp32: Those in full fp32, off the tensor cores.
        tf32: Those in TF32.
        half: Those in bf16 or fp16.
        double: Those in fp64.
        odd_sizes: Those on tensor cores with an inner or outer size that is no multiple of 8.
    """

    products: float | None = None
    fp32: float | None = None
    tf32: float | None = None
    half: float | None = None
    double: float | None = None
    odd_sizes: float | None = None
