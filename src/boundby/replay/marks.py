"""What an edit needs to know about a launch beyond its times: one row a launch of the timeline."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from boundby.frozen import frozen
from boundby.intervals import Ints

Bools = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]

NO_GROUP = -1
OF_DEVICE = frozenset({"update", "tf32_rate", "bf16_rate"})
"""Marks of the program or its device, not of a launch."""


@frozen
class Marks:
    """Marks of every launch of the timeline, index as in ``Timeline.launches``.

    Attributes:
        optimizer: bool, launched inside an optimizer's update.
        update: How the optimizer updates: ``loop``, ``foreach``, ``fused``, or None unknown.
        product: bool, matrix products and convolutions.
        convolution: bool, convolutions alone.
        fp32: bool, products in full fp32, off the tensor cores.
        tf32: bool, products in TF32.
        fused_fp32: bool, fused attention in fp32.
        half: bool, products in bf16 or fp16.
        cast: bool, kernels that only change the element type.
        attention: int64 number of the hand-written attention a launch belongs to; NO_GROUP.
        chain: int64 number of the chain of elementwise work and reductions a compiler could
            merge; NO_GROUP.
        reduction: bool, reductions, norms and softmax inside chains.
        communication: bool, collectives.
        hoistable: bool, launches of a Python loop that could run once before it.
        fighting: bool, elementwise work whose operands' layouts fight.
        upload, download: bool, copies from and to the host.
        pageable: bool, of those the ones through pageable memory.
        size: int64 bytes of a copy, -1 unknown.
        fill: float64, thread blocks over what the device holds at once; NaN unknown.
        floor_ns: float64, least duration by the roofline; NaN where not counted.
        memory_ns: float64, least duration by bytes alone; NaN where not counted.
        traffic: float64 bytes moved at least; NaN where not counted.
        fused_ns: float64, of products over attention scores the time of their operations inside a
            fused kernel; NaN unknown.
        tf32_rate, bf16_rate: Peak of products in TF32 and in bf16 over that of fp32's own unit on
            this device; None where the device has none or is unknown.
    """

    optimizer: Bools
    update: str | None
    product: Bools
    convolution: Bools
    fp32: Bools
    tf32: Bools
    fused_fp32: Bools
    half: Bools
    cast: Bools
    attention: Ints
    chain: Ints
    reduction: Bools
    communication: Bools
    hoistable: Bools
    fighting: Bools
    upload: Bools
    download: Bools
    pageable: Bools
    size: Ints
    fill: Floats
    floor_ns: Floats
    memory_ns: Floats
    traffic: Floats
    fused_ns: Floats
    tf32_rate: float | None = None
    bf16_rate: float | None = None
