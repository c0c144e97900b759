"""What attention written out costs: a score matrix that is stored, and read back by every step."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterable, Mapping

import numpy as np
import numpy.typing as npt

from boundby.frozen import frozen
from boundby.roofline.arguments import Tensor
from boundby.roofline.ceilings import Ceilings
from boundby.roofline.costs import Cost
from boundby.roofline.dtypes import category
from boundby.roofline.kernels import KernelRoofs, OperatorRun
from boundby.roofline.patterns.calls import Call

BATCHED = ("bmm", "baddbmm")
SOFTMAX = ("_softmax", "_masked_softmax", "_softmax_backward_data", "_masked_softmax_backward")
LEADING = 3

HALF_SHARE = 0.45
"""Of the half-precision peak that fused attention reaches (H200, cuDNN, 64-wide heads, 2048
tokens: 447 TFLOP/s forward, 414 backward)."""
FLOAT32_SHARE = 0.2
"""Of a third of the TF32 peak (H200, memory-efficient attention in float32: 34 TFLOP/s)."""


@frozen
class WrittenAttention:
    """Attention that stores its scores.

    Attributes:
        count: Softmaxes, forward and backward.
        ns: Device time of everything that touches the scores.
        score_bytes: Bytes of scores written and read, at least: a fused kernel moves none.
        score_sizes: Bytes of the score matrices, each size once, in every element type that they
            are read in; empty where shapes were not recorded.
        flops: Of the products over the scores, which remain.
        fused_ns: Time of a fused kernel at the usual share of the peak; None where it is unknown.
    """

    count: int
    ns: int
    score_bytes: float
    score_sizes: tuple[int, ...]
    flops: float
    fused_ns: float | None

    @property
    def saved_ns(self) -> float | None:
        """Time that a fused kernel would save; None where unknown."""
        return None if self.fused_ns is None else max(self.ns - self.fused_ns, 0.0)


def written_attention(
    roofs: KernelRoofs, member: npt.NDArray[np.bool_], call_of: Mapping[int, Call]
) -> WrittenAttention:
    """What the rows of such attentions cost.

    Args:
        member: bool[len(roofs)], the rows that touch scores; what they are, others found out.
        call_of: The call of each host row (``call_of_run``).
    """
    runs = sorted((run for run in roofs.runs if member[run.kernels[0]]), key=lambda run: run.row)
    softmax = [at for at, run in enumerate(runs) if call_of[run.row].name in SOFTMAX]
    products = [run for run in runs if call_of[run.row].name in BATCHED]
    fused = [fused_ns(run.cost, roofs.ceilings) for run in products]
    known = [ns for ns in fused if ns is not None]
    return WrittenAttention(
        count=len(softmax),
        ns=int(roofs.dur[member].sum()),
        score_bytes=sum(_score_bytes(runs, at, softmax, call_of) for at in range(len(runs))),
        score_sizes=_score_sizes(call_of[run.row] for run in runs),
        flops=sum(run.cost.flops or 0.0 for run in products if run.cost is not None),
        fused_ns=sum(known) if len(known) == len(fused) and known else None,
    )


def _score_bytes(
    runs: list[OperatorRun], at: int, softmax: list[int], call_of: Mapping[int, Call]
) -> float:
    """Bytes of scores that one run moves: all that it moves, less what is not scores."""
    run, call = runs[at], call_of[runs[at].row]
    if run.cost is None or run.cost.bytes is None or not softmax:
        return 0.0
    operands = _operands(call)
    if operands is None:
        return run.cost.bytes
    after = bisect_left(softmax, at)
    nearest = min(softmax[max(after - 1, 0) : after + 1], key=lambda other: abs(other - at))
    tensors = call_of[runs[nearest].row].tensors(1)
    scores = tensors[0].numel if tensors else 0
    written = _written(*operands)
    other = sum(tensor.bytes for tensor in operands if tensor.numel != scores)
    if written != scores:
        other += written * (operands[0].bytes / max(operands[0].distinct, 1))
    return max(run.cost.bytes - other, 0.0)


def _score_sizes(calls: Iterable[Call]) -> tuple[int, ...]:
    """Distinct bytes of the scores that calls around a softmax read; a mask over them is none."""
    leading = [(call.name, call.tensors(LEADING)) for call in calls]
    scores = {tensors[0].numel for name, tensors in leading if tensors and name in SOFTMAX}
    read = (each for _, tensors in leading for each in tensors if each.distinct in scores)
    sizes = {tensor.bytes for tensor in read if category(tensor.dtype) == "float"}
    return tuple(sorted(int(size) for size in sizes if not math.isnan(size)))


def _operands(call: Call) -> tuple[Tensor, Tensor] | None:
    """The two factors of a batched product."""
    tensors = call.tensors(LEADING)[-2:] if call.name in BATCHED else []
    return (tensors[0], tensors[1]) if len(tensors) == len(("a", "b")) else None


def _written(a: Tensor, b: Tensor) -> int:
    return a.numel // max(a.shape[-1], 1) * b.shape[-1]


def fused_ns(cost: Cost | None, ceilings: Ceilings | None) -> float | None:
    """Time of a product over scores inside a fused kernel, ns; None where it is unknown."""
    if cost is None or cost.flops is None or ceilings is None:
        return None
    is_float32 = cost.dtype == "float32"
    rate = ceilings.tflops("3xtf32" if is_float32 else cost.dtype)
    share = FLOAT32_SHARE if is_float32 else HALF_SHARE
    return None if rate is None else cost.flops / (rate * share * 1e3)
