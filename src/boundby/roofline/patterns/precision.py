"""What a lower precision would gain, roof by roof.

Products on the vector unit gain the ratio of the peaks, kept above the time their bytes need; work
bound by memory gains the ratio of the element sizes. Neither helps a step that waits for its host.
"""

from __future__ import annotations

from boundby.frozen import frozen
from boundby.roofline.kernels import KernelRoofs, OperatorRun, Side
from boundby.roofline.patterns.calls import memory_ns

HALF = 0.5
"""Bytes of half precision over those of float32."""


@frozen
class Precision:
    """Float32 work that a lower precision would speed up.

    Attributes:
        products: Matrix products and convolutions in float32 on the vector unit.
        product_ns: Their device time.
        product_flops: Their operations.
        tf32_ns: That time on the matrix unit in TF32, at the share of the peak reached now, which
            small products and convolutions in NCHW do not keep; None where the device has none or
            is unknown.
        bfloat16_ns: Likewise in bfloat16, with half the bytes.
        memory_ns: Device time of float32 work bound by memory.
        memory_half_ns: That time with half the bytes.
    """

    products: int
    product_ns: int
    product_flops: float
    tf32_ns: float | None
    bfloat16_ns: float | None
    memory_ns: int
    memory_half_ns: float


def find_precision(roofs: KernelRoofs) -> Precision:
    """Float32 products off the matrix unit, and float32 work bound by memory."""
    products = [run for run in roofs.runs if _is_float32_product(run)]
    streaming = [run for run in roofs.runs if _is_float32_streaming(roofs, run)]
    ns = sum(run.duration_ns for run in streaming)
    return Precision(
        products=len(products),
        product_ns=sum(run.duration_ns for run in products),
        product_flops=sum(run.cost.flops or 0.0 for run in products if run.cost is not None),
        tf32_ns=_faster(roofs, products, "tf32", 1.0),
        bfloat16_ns=_faster(roofs, products, "bfloat16", HALF),
        memory_ns=ns,
        memory_half_ns=ns * HALF,
    )


def _is_float32_product(run: OperatorRun) -> bool:
    if run.cost is None or run.placement is None or run.cost.unit != "matrix":
        return False
    return run.placement.peak == "float32" and run.placement.nearer == "compute"


def _is_float32_streaming(roofs: KernelRoofs, run: OperatorRun) -> bool:
    if run.cost is None or run.cost.dtype != "float32" or run.cost.unit == "matrix":
        return False
    return bool(roofs.side[run.kernels[0]] == Side.MEMORY)


def _faster(
    roofs: KernelRoofs, products: list[OperatorRun], key: str, byte_ratio: float
) -> float | None:
    """Time of the products with the rate of another unit, never below that of their bytes."""
    if roofs.ceilings is None:
        return None
    new, old = roofs.ceilings.tflops(key), roofs.ceilings.tflops("float32")
    if new is None or old is None:
        return None
    total = 0.0
    for run in products:
        bytes_ = run.cost.bytes if run.cost is not None else None
        least = memory_ns(roofs, (bytes_ or 0.0) * byte_ratio) or 0.0
        total += min(max(run.duration_ns * old / new, least), float(run.duration_ns))
    return total
