"""Casts: kernels that only change the element type, as autocast inserts them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from boundby.roofline.families import Family
from boundby.roofline.kernels import KernelRoofs
from boundby.roofline.patterns.calls import Call, distinct_calls


@dataclass(frozen=True)
class Casts:
    """What casting costs.

    Attributes:
        count: Kernels.
        ns: Their device time; fused into their neighbours they would cost next to nothing.
        bytes: What they move, at least, where counted.
        share: Of the summed device time.
    """

    count: int
    ns: int
    bytes: float
    share: float


def find_casts(roofs: KernelRoofs) -> Casts:
    """Copies between element types by their arguments, else by the name of the kernel."""
    is_cast = roofs.family == Family.CAST
    for call in distinct_calls(roofs):
        verdict = _casts(call)
        if verdict is not None:
            for run in call.runs:
                is_cast[run.kernels] = verdict
    ns = int(roofs.dur[is_cast].sum())
    return Casts(
        count=int(is_cast.sum()),
        ns=ns,
        bytes=float(np.nansum(roofs.bytes[is_cast])),
        share=ns / max(int(roofs.dur.sum()), 1),
    )


def _casts(call: Call) -> bool | None:
    """Whether a copy changes the type; None for anything but a copy with known types."""
    if call.name not in ("copy_", "_copy_from"):
        return None
    dtypes = [tensor.dtype for tensor in call.tensors(2)]
    return len(set(dtypes)) > 1 if len(dtypes) > 1 and all(dtypes) else None
