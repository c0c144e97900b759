"""Device work that costs more than it needs: what it moves or computes, and what a cure would save.

What each launch is was found by the recognisers behind the marks; this file only adds up its cost.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal

import numpy as np
import numpy.typing as npt

from boundby.evidence.launched import Launched
from boundby.evidence.layout import converting_launches
from boundby.frozen import frozen
from boundby.replay.marks import Marks
from boundby.roofline.kernels import KernelRoofs, OperatorRun
from boundby.roofline.patterns.attention import written_attention
from boundby.roofline.patterns.calls import call_of_run, distinct_calls, memory_ns
from boundby.roofline.patterns.chains import measure_chains
from boundby.roofline.patterns.precision import find_precision
from boundby.roofline.placement import LimitedBy
from boundby.units import NS_PER_MS

Bools = npt.NDArray[np.bool_]

WasteKind = Literal[
    "attention",
    "chain",
    "layout",
    "conversion",
    "cast",
    "fp32-product",
    "small-product",
    "special-function",
]


@frozen
class Waste:
    """All work of one kind, per step.

    Attributes:
        kind: ``attention`` written out; a ``chain`` of kernels that one kernel could replace;
            ``layout`` of operands that fight; ``conversion`` between layouts; ``cast`` between
            element types; ``fp32-product`` off the matrix unit; ``small-product`` that fills no
            roof; ``special-function`` (exp, erf ...) as the limit of elementwise work.
        count: Kernels or operator calls; of attention, softmaxes; of chains, chains.
        ms: Device time.
        share: Of the device time of the step.
        bytes: Moved now, at least; of attention, of scores alone; None where uncounted.
        least_bytes: What would have to move after the cure; None where there is none.
        flops: Of products; None elsewhere.
        saved_ms: What the cure would save of device time, at most; None where it is unknown. Of
            fp32 products with TF32.
        few_blocks: Of small products, those with fewer thread blocks than the device has
            multiprocessors; None elsewhere, and where either is unknown.
        score_sizes: Of attention, bytes of its score matrices, each size once; empty where shapes
            were not recorded.
    """

    kind: WasteKind
    count: float
    ms: float
    share: float
    bytes: float | None = None
    least_bytes: float | None = None
    flops: float | None = None
    saved_ms: float | None = None
    few_blocks: float | None = None
    score_sizes: tuple[int, ...] = ()


@frozen
class LowerPrecision:
    """What a lower precision would gain of device time, roof by roof, per step.

    Attributes:
        product_ms: float32 products and convolutions on the vector unit.
        tf32_ms: The same on the matrix unit in TF32; None where the device has none, or unknown.
        bfloat16_ms: Likewise in bfloat16.
        memory_ms: float32 work bound by memory.
        memory_half_ms: The same with half the bytes.
    """

    product_ms: float
    tf32_ms: float | None
    bfloat16_ms: float | None
    memory_ms: float
    memory_half_ms: float


def find_wastes(
    launched: Launched, roofs: KernelRoofs, marks: Marks, steps: int
) -> tuple[Waste, ...]:
    """Every kind that occurs, the longest first.

    Args:
        roofs: Rows of some steps held against the roofs.
        marks: What each launch is.
        steps: Number of those steps.
    """
    found = [*_moving(launched, roofs, marks), *_products(roofs)]
    total = max(int(roofs.dur.sum()), 1)
    wastes = (_per_step(each, total, steps) for each in found if each.ns)
    return tuple(sorted(wastes, key=lambda waste: -waste.ms))


def lower_precision(roofs: KernelRoofs, steps: int) -> LowerPrecision | None:
    """What TF32 and bfloat16 would gain; None where nothing runs in float32."""
    found = find_precision(roofs)
    if not found.product_ns and not found.memory_ns:
        return None
    return LowerPrecision(
        product_ms=found.product_ns / NS_PER_MS / steps,
        tf32_ms=_ms(found.tf32_ns, steps),
        bfloat16_ms=_ms(found.bfloat16_ns, steps),
        memory_ms=found.memory_ns / NS_PER_MS / steps,
        memory_half_ms=found.memory_half_ns / NS_PER_MS / steps,
    )


@frozen
class _Sum:
    """A Waste over all steps, in ns."""

    kind: WasteKind
    count: int
    ns: int
    bytes: float | None = None
    least_bytes: float | None = None
    flops: float | None = None
    saved_ns: float | None = None
    few_blocks: int | None = None
    score_sizes: tuple[int, ...] = ()


def _per_step(found: _Sum, total: int, steps: int) -> Waste:
    return Waste(
        kind=found.kind,
        count=found.count / steps,
        ms=found.ns / NS_PER_MS / steps,
        share=found.ns / total,
        bytes=None if found.bytes is None else found.bytes / steps,
        least_bytes=None if found.least_bytes is None else found.least_bytes / steps,
        flops=None if found.flops is None else found.flops / steps,
        saved_ms=_ms(found.saved_ns, steps),
        few_blocks=None if found.few_blocks is None else found.few_blocks / steps,
        score_sizes=found.score_sizes,
    )


def _ms(ns: float | None, steps: int) -> float | None:
    return None if ns is None else ns / NS_PER_MS / steps


def _moving(launched: Launched, roofs: KernelRoofs, marks: Marks) -> Iterator[_Sum]:
    """Work that moves more bytes than it needs."""
    launch = launched.timeline.launches.of_row[roofs.rows]
    call_of = call_of_run(distinct_calls(roofs))
    attention = written_attention(roofs, marks.attention[launch] >= 0, call_of)
    yield _Sum(
        kind="attention",
        count=attention.count,
        ns=attention.ns,
        bytes=attention.score_bytes or None,
        least_bytes=0.0,
        flops=attention.flops or None,
        saved_ns=attention.saved_ns,
        score_sizes=attention.score_sizes,
    )
    chains = measure_chains(roofs, marks.chain[launch], call_of)
    yield _Sum(
        kind="chain",
        count=len(chains.chains),
        ns=chains.ns,
        bytes=chains.bytes,
        least_bytes=chains.fused_bytes,
        saved_ns=chains.saved_ns,
    )
    yield _streaming("layout", roofs, marks.fighting[launch])
    converting = np.zeros(len(launched.timeline.launches), dtype=np.bool_)
    converting[launched.call] = converting_launches(launched)
    yield _avoidable("conversion", roofs, converting[launch])
    yield _avoidable("cast", roofs, marks.cast[launch])


def _streaming(kind: WasteKind, roofs: KernelRoofs, mine: Bools) -> _Sum:
    """Work that would save what it takes above the time of its bytes."""
    moved, ns = _bytes(roofs, mine), int(roofs.dur[mine].sum())
    ideal = None if moved is None else memory_ns(roofs, moved)
    saved = None if ideal is None else max(ns - ideal, 0.0)
    return _Sum(kind, int(mine.sum()), ns, bytes=moved, saved_ns=saved)


def _avoidable(kind: WasteKind, roofs: KernelRoofs, mine: Bools) -> _Sum:
    """Work that merged into its neighbours would cost next to nothing."""
    ns, moved = int(roofs.dur[mine].sum()), _bytes(roofs, mine)
    return _Sum(kind, int(mine.sum()), ns, moved, least_bytes=0.0, saved_ns=float(ns))


def _bytes(roofs: KernelRoofs, mine: Bools) -> float | None:
    """Bytes of the rows; None unless all are counted."""
    total = float(roofs.bytes[mine].sum())
    return None if np.isnan(total) else total


def _products(roofs: KernelRoofs) -> Iterator[_Sum]:
    """Work that leaves the units of the device unused."""
    wide = find_precision(roofs)
    saved = None if wide.tf32_ns is None else wide.product_ns - wide.tf32_ns
    yield _Sum(
        "fp32-product",
        wide.products,
        wide.product_ns,
        flops=wide.product_flops,
        saved_ns=saved,
    )
    yield _limited("small-product", roofs, "neither", "matrix")
    yield _limited("special-function", roofs, "special", "vector")


def _limited(kind: WasteKind, roofs: KernelRoofs, by: LimitedBy, unit: str) -> _Sum:
    """Operators of a unit that something limits: what is above both roofs could be saved."""
    runs = [
        (run, run.cost, run.placement)
        for run in roofs.runs
        if run.cost is not None and run.placement is not None
        if run.cost.unit == unit and run.placement.limited_by == by
    ]
    ns = sum(run.duration_ns for run, _, _ in runs)
    return _Sum(
        kind,
        len(runs),
        ns,
        bytes=sum(cost.bytes or 0.0 for _, cost, _ in runs),
        flops=sum(cost.flops or 0.0 for _, cost, _ in runs),
        saved_ns=ns - sum(placement.floor_ns or 0.0 for _, _, placement in runs),
        few_blocks=_few_blocks(roofs, [run for run, _, _ in runs]) if unit == "matrix" else None,
    )


def _few_blocks(roofs: KernelRoofs, runs: Sequence[OperatorRun]) -> int | None:
    """Runs whose largest kernel cannot give every multiprocessor a block; None if unknown."""
    available = roofs.ceilings.multiprocessors if roofs.ceilings else 0
    blocks = roofs.recording.device.blocks[roofs.rows]
    most = [int(blocks[run.kernels].max()) for run in runs]
    if not available or not most or min(most) <= 0:
        return None
    return sum(count < available for count in most)
