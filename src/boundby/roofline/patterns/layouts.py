"""Layouts that fight: operands of one kernel whose memory runs along different dimensions.

A single transposed operand costs nothing: the result takes its layout. Two that disagree make one
of them be read across its rows, whichever way the kernel goes.
"""

from __future__ import annotations

from dataclasses import dataclass

from boundby.roofline.arguments import Tensor
from boundby.roofline.families import Family
from boundby.roofline.kernels import KernelRoofs, OperatorRun
from boundby.roofline.operators.elementwise import FORMULAS
from boundby.roofline.patterns.calls import distinct_calls, memory_ns


@dataclass(frozen=True)
class Layouts:
    """What disagreeing layouts cost.

    Attributes:
        fights: Kernels whose operands disagree.
        ns: Their device time.
        bytes: What they move, at least.
        saved_ns: Time saved if they streamed; None on an unknown device. A copy to the common
            layout costs a read and a write of one operand, so it pays for repeated use.
        conversions: Kernels that only change a layout: transposing copies, NCHW to NHWC.
        conversion_ns: Their device time.
    """

    fights: int
    ns: int
    bytes: float
    saved_ns: float | None
    conversions: int
    conversion_ns: int


def find_layouts(roofs: KernelRoofs) -> Layouts:
    """Elementwise kernels with operands that disagree, and conversions between layouts."""
    fighting: list[OperatorRun] = []
    converting: list[OperatorRun] = []
    for call in distinct_calls(roofs):
        if call.name.rstrip("_") in FORMULAS and disagree(call.tensors(_slots(call.name))):
            fighting.extend(call.runs)
        if call.name == "copy_" and disagree(call.tensors(2)):
            converting.extend(call.runs)
    ns = sum(run.duration_ns for run in fighting)
    bytes_ = sum(r.cost.bytes or 0.0 for r in fighting if r.cost is not None)
    ideal = memory_ns(roofs, bytes_)
    inside = [
        int(row)
        for run in roofs.runs
        if run.cost is not None and run.cost.unit == "matrix"
        for row in run.kernels
        if roofs.family[row] == Family.COPY
    ]
    return Layouts(
        fights=len(fighting),
        ns=ns,
        bytes=bytes_,
        saved_ns=None if ideal is None else max(ns - ideal, 0.0),
        conversions=len(converting) + len(inside),
        conversion_ns=sum(r.duration_ns for r in converting) + int(roofs.dur[inside].sum()),
    )


def _slots(name: str) -> int:
    return FORMULAS[name.rstrip("_")].slots


def fastest(tensor: Tensor) -> int | None:
    """The dimension that memory runs along, counted from the last (-1); None if there is none."""
    if tensor.strides is None:
        return None
    rank = len(tensor.shape)
    moving = [
        (stride, axis - rank)
        for axis, (size, stride) in enumerate(zip(tensor.shape, tensor.strides, strict=True))
        if size > 1 and stride > 0
    ]
    return min(moving)[1] if moving else None


def disagree(tensors: list[Tensor]) -> bool:
    """Whether the largest operands run along different dimensions; broadcast ones do not count."""
    if not tensors:
        return False
    largest = max(tensor.distinct for tensor in tensors)
    axes = {fastest(t) for t in tensors if t.distinct == largest and len(t.shape) > 1}
    return len(axes - {None}) > 1
