"""In which precision matrix products and convolutions run, by the names of their kernels."""

from __future__ import annotations

import re

import numpy as np

from boundby.distribution import distinct
from boundby.evidence.kernels import KernelTime
from boundby.evidence.launched import Launched
from boundby.frozen import frozen
from boundby.roofline.families import Family, classify_kernel
from boundby.roofline.widths import Width, product_width

PRODUCTS = (Family.MATMUL, Family.CONVOLUTION)
MATRIX = re.compile(r"^aten::(mm|addmm|bmm|baddbmm|_addmm_activation|linear)$")
TILE = 8
"""Tensor cores read rows of 16 bytes: sizes that are multiples of 8 need no padding."""


@frozen
class Precision:
    """Shares of device time; all None without kernels.

    Attributes:
        products: Matrix products and convolutions of any precision.
        fp32: Those in full fp32, off the tensor cores.
        tf32: Those in TF32.
        half: Those in 16 bits or fewer.
        double: Those in fp64.
        odd_sizes: Products on tensor cores with an inner or outer size that is no multiple of 8;
            None where sizes were not recorded.
    """

    products: float | None = None
    fp32: float | None = None
    tf32: float | None = None
    half: float | None = None
    double: float | None = None
    odd_sizes: float | None = None


def find_precision(launched: Launched, kernels: KernelTime) -> Precision:
    """What the names of the kernels tell."""
    if not kernels.total:
        return Precision()
    return Precision(
        products=kernels.share(is_product),
        fp32=kernels.share(lambda name: width(name) == "fp32"),
        tf32=kernels.share(lambda name: width(name) == "tf32"),
        half=kernels.share(lambda name: width(name) == "half"),
        double=kernels.share(lambda name: width(name) == "double"),
        odd_sizes=_odd_sizes(launched, kernels.total),
    )


def is_product(name: str) -> bool:
    """Whether a kernel of that name multiplies matrices or convolves."""
    return classify_kernel(name) in PRODUCTS


def width(name: str) -> Width:
    """Element type a product kernel multiplies in; empty for other kernels, or a hidden type."""
    return product_width(name) if is_product(name) else ""


def _odd_sizes(launched: Launched, total: float) -> float | None:
    if not launched.timeline.recording.signatures:
        return None
    wanted = [width(launched.names[name]) in ("half", "tf32") for name in distinct(launched.name)]
    on_cores = np.isin(launched.name, distinct(launched.name)[np.array(wanted, dtype=np.bool_)])
    rows = np.flatnonzero(on_cores & launched.by(MATRIX))
    signature = launched.signatures()[rows]
    odd = {index: _is_odd(launched, index) for index in distinct(signature).tolist()}
    chosen = np.array([odd[index] for index in signature.tolist()], dtype=np.bool_)
    return float(launched.work[rows[chosen]].sum() / total)


def _is_odd(launched: Launched, index: int) -> bool:
    """Whether the sizes along the contiguous sides of a product are no multiples of 8."""
    arguments = launched.arguments(index)
    slots = arguments.slots if arguments else ()
    shapes = [shape for slot in slots if (shape := getattr(slot, "shape", ())) and len(shape) > 1]
    return any(shape[-1] % TILE or shape[-2] % TILE for shape in shapes[-1:])
