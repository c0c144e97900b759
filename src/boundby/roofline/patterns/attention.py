"""Attention written out: a score matrix that is stored, and read back by every step of it.

Recognised by shape, around each softmax over at least three dimensions: the operators next to it
that read or write as many elements, up to the first matrix product that does not, if batched
products over the scores stand on both sides. The backward pass is found in the same way.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from boundby.roofline.arguments import BATCH, Tensor
from boundby.roofline.kernels import KernelRoofs, OperatorRun
from boundby.roofline.patterns.calls import Call, call_of_run, distinct_calls

BATCHED = ("bmm", "baddbmm")
SOFTMAX = (
    "_softmax",
    "_safe_softmax",
    "_masked_softmax",
    "softmax",
    "_softmax_backward_data",
)
REACH = 24
"""Operators looked at on each side of a softmax: scaling, mask, dropout, casts, products."""

HALF_SHARE = 0.45
"""Of the half-precision peak that fused attention reaches (H200, cuDNN, 64-wide heads, 2048
tokens: 447 TFLOP/s forward, 414 backward)."""
FLOAT32_SHARE = 0.2
"""Of a third of the TF32 peak (H200, memory-efficient attention in float32: 34 TFLOP/s)."""


@dataclass(frozen=True)
class WrittenAttention:
    """Attention that stores its scores.

    Attributes:
        count: Softmaxes found, forward and backward.
        ns: Device time of everything that touches the scores.
        score_bytes: Bytes of scores written and read, at least: a fused kernel moves none.
        flops: Of the products over the scores, which remain.
        fused_ns: Time of a fused kernel at the usual share of the peak; None where it is unknown.
    """

    count: int
    ns: int
    score_bytes: float
    flops: float
    fused_ns: float | None

    @property
    def saved_ns(self) -> float | None:
        """Time that a fused kernel would save; None where unknown."""
        return None if self.fused_ns is None else max(self.ns - self.fused_ns, 0.0)


def find_written_attention(roofs: KernelRoofs) -> WrittenAttention:
    """Everything that touches a score matrix, in the order in which it was called."""
    runs = sorted(roofs.runs, key=lambda run: run.row)
    call_of = call_of_run(distinct_calls(roofs))
    members: dict[int, float] = {}
    count = 0
    for at, run in enumerate(runs):
        scores = _softmax_elements(call_of[run.row])
        before = _around(reversed(range(max(at - REACH, 0), at)), runs, call_of, scores)
        after = _around(range(at + 1, min(at + 1 + REACH, len(runs))), runs, call_of, scores)
        if not scores or not (_has_product(before, runs, call_of, after)):
            continue
        count += 1
        for index in (*before, at, *after):
            members[index] = _score_bytes(call_of[runs[index].row], runs[index], scores)
    group = [runs[index] for index in members]
    products = [run for run in group if call_of[run.row].name in BATCHED]
    return WrittenAttention(
        count=count,
        ns=sum(run.duration_ns for run in group),
        score_bytes=sum(members.values()),
        flops=sum(run.cost.flops or 0.0 for run in products if run.cost is not None),
        fused_ns=_fused_ns(roofs, products),
    )


def _softmax_elements(call: Call) -> int:
    """Elements of the scores; 0 where it is no softmax over at least three dimensions."""
    tensors = call.tensors(1) if call.name in SOFTMAX else []
    return tensors[0].numel if tensors and len(tensors[0].shape) >= BATCH else 0


def _around(
    indices: Iterable[int], runs: list[OperatorRun], call_of: dict[int, Call], scores: int
) -> list[int]:
    """Runs that touch the scores, going away from the softmax up to a product that does not."""
    found = []
    for index in indices:
        run, call = runs[index], call_of[runs[index].row]
        if _softmax_elements(call):
            break
        if _touches(call, scores):
            found.append(index)
        elif run.cost is not None and run.cost.unit == "matrix":
            break
    return found


def _has_product(
    before: list[int], runs: list[OperatorRun], call_of: dict[int, Call], after: list[int]
) -> bool:
    sides = ([call_of[runs[i].row].name in BATCHED for i in side] for side in (before, after))
    return all(any(side) for side in sides)


def _operands(call: Call) -> tuple[Tensor, Tensor] | None:
    """The two factors of a batched product."""
    tensors = call.tensors(3)[-2:] if call.name in BATCHED else []
    return (tensors[0], tensors[1]) if len(tensors) == len(("a", "b")) else None


def _written(a: Tensor, b: Tensor) -> int:
    return a.numel // max(a.shape[-1], 1) * b.shape[-1]


def _touches(call: Call, scores: int) -> bool:
    operands = _operands(call)
    if operands is not None:
        return scores in (operands[0].numel, operands[1].numel, _written(*operands))
    return any(tensor.numel == scores for tensor in call.tensors(3))


def _score_bytes(call: Call, run: OperatorRun, scores: int) -> float:
    """Bytes of scores that one run moves: all that it moves, less what is not scores."""
    if run.cost is None or run.cost.bytes is None:
        return 0.0
    operands = _operands(call)
    if operands is None:
        return run.cost.bytes
    other = sum(tensor.bytes for tensor in operands if tensor.numel != scores)
    if _written(*operands) != scores:
        other += _written(*operands) * (operands[0].bytes / max(operands[0].distinct, 1))
    return max(run.cost.bytes - other, 0.0)


def _fused_ns(roofs: KernelRoofs, products: list[OperatorRun]) -> float | None:
    total = 0.0
    for run in products:
        if run.cost is None or run.cost.flops is None or roofs.ceilings is None:
            return None
        is_float32 = run.cost.dtype == "float32"
        rate = roofs.ceilings.tflops("3xtf32" if is_float32 else run.cost.dtype)
        if rate is None:
            return None
        share = FLOAT32_SHARE if is_float32 else HALF_SHARE
        total += run.cost.flops / (rate * share * 1e3)
    return total
