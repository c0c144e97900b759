"""What-if edits that need marks: optimizer, precision, attention, copies, layout, fusion, batch.

Each takes a program, the marks of its items, and a bound: 0 the best estimate, -1 the fast end,
+1 the slow end. The three numbers of every assumption stand in one table, with their source.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace
from typing import Literal

import numpy as np

from boundby.frozen import frozen
from boundby.intervals import Ints
from boundby.replay import edits
from boundby.replay.edits import (
    COLD,
    scaled_device,
    scaled_kinds,
    without_host,
)
from boundby.replay.marks import OF_DEVICE, Marks
from boundby.replay.program import Program
from boundby.replay.surgery import (
    Bools,
    Floats,
    first_of_group,
    merge_items,
    most_by_group,
    on_own_stream,
    scale_host_before,
    sum_by_group,
    with_durations,
    without_waits_for,
)
from boundby.timeline.hostline import LineKind

Bound = Literal[-1, 0, 1]
MarkedEdit = Callable[[Program, Marks, Bound], Program]


@frozen
class Assumed:
    """An assumption with its range: fast end, best estimate, slow end."""

    fast: float
    best: float
    slow: float

    def at(self, bound: Bound) -> float:
        """The value at one bound."""
        return (self.fast, self.best, self.slow)[bound + 1]

    def on(self, rate: float, reference: float) -> Assumed:
        """A shortening seen where one unit is ``reference`` times another, where it is ``rate``.

        What is gained goes with what the unit is ahead by; where it is not, nothing is.
        """
        part = max(rate - 1.0, 0.0) / (reference - 1.0)
        fast, best, slow = (
            1.0 / (1.0 + (1.0 / factor - 1.0) * part)
            for factor in (self.fast, self.best, self.slow)
        )
        return Assumed(fast, best, slow)


FUSED_HOST = Assumed(0.10, 0.20, 0.40)
"""Host time of a fused update over a foreach one (fused still walks all parameters in Python)."""
FUSED_DEVICE = Assumed(0.30, 0.60, 1.20)
"""Device time of a fused update over a foreach one: one pass over 7 arrays for about 4 passes."""
LOOP_TO_FOREACH_HOST = Assumed(0.06, 0.12, 0.25)
"""Host time of a foreach update over one operator per parameter and array."""
LOOP_TO_FUSED_HOST = Assumed(0.02, 0.05, 0.12)
LOOP_TO_FOREACH_DEVICE = Assumed(0.3, 0.6, 1.0)
LOOP_TO_FUSED_DEVICE = Assumed(0.15, 0.35, 0.8)
H200_TF32, H200_BF16 = 494.5 / 67.0, 989.5 / 67.0
"""Peaks over that of fp32 (datasheet) where the four shortenings below were measured."""
TF32_PRODUCT = Assumed(1 / 7.4, 1 / 6.5, 1 / 4.0)
"""TF32 over fp32 matrix product: 494 against 67 TFLOP/s peak (H200 datasheet); 6.8x measured on
8192-cubes, less on smaller ones."""
HALF_PRODUCT = Assumed(1 / 14.0, 1 / 11.0, 1 / 5.0)
"""bf16 over fp32 matrix product: 13x measured on an H200, less on smaller ones."""
TF32_CONVOLUTION = Assumed(1 / 4.0, 1 / 2.0, 1 / 1.3)
"""Convolutions are partly bound by memory: 1.6x on the kernels of a ResNet-50 at batch 32."""
HALF_CONVOLUTION = Assumed(1 / 5.0, 1 / 2.2, 1 / 1.1)
TF32_TO_HALF = Assumed(1 / 2.2, 1 / 1.8, 1 / 1.2)
"""bf16 over TF32 matrix product: twice the peak, half the bytes."""
TF32_TO_HALF_CONVOLUTION = Assumed(1 / 2.0, 1 / 1.5, 1.1)
FUSED_TO_HALF = Assumed(1 / 12.0, 1 / 4.5, 1 / 2.5)
"""bf16 over fp32 fused attention: 4.5x on the kernels of an encoder at batch 2 (H200, training)."""
HALF_HOST = Assumed(1.2, 1.7, 2.5)
"""Host time of a product under autocast over one without: operands are cast, calls wrapped."""
HALF_OTHER = Assumed(0.5, 0.75, 1.15)
"""Elementwise work in half precision: half the bytes, plus casts."""
FLASH = Assumed(0.35, 0.55, 1.2)
"""Fused attention over the two products of a hand-written one, where sizes are unknown."""
FUSED_RATE = Assumed(0.7, 1.0, 2.0)
"""Fused attention over the time its operations take at the usual rate: short sequences and masks
reach less of it (H200: 0.59 ms measured in bf16 for 0.62; a training step of 12 blocks in fp32, 8
heads of 64, 512 tokens, batch 64: 16.3 ms saved for 15.8)."""
PINNED_GB_S = Assumed(64.0, 55.0, 22.0)
"""Host to device from pinned memory: 55 GB/s measured on PCIe 5 x16, 22 to 26 on PCIe 4."""
CHAIN = Assumed(0.03, 0.08, 0.16)
"""What each further member of a merged chain adds, over the longest member: it reads and writes
once and computes for all (10 blocks of gelu, multiply and layer norm: 3.3 times the longest)."""
CHAIN_LONGEST = Assumed(0.65, 0.95, 1.10)
"""The longest member inside the chain over itself alone: it may read what is in registers now."""
EMPTY_KERNEL_NS = 1_500
"""Time of a kernel with next to nothing to do (H200: 0.9 to 2 us); merging adds nothing to it."""
COMPILED_HOST = Assumed(0.4, 0.7, 1.0)
"""Host time of an operator that a compiled region still calls, over an eager one."""
MERGED_HOST = Assumed(0.0, 0.05, 0.40)
"""Host time that stays of an operator merged into a compiled kernel."""
LAYOUT = Assumed(1.0, 1.25, 2.0)
"""Work on matching layouts over its memory floor, the copy that makes them match included."""
HOISTED_DEVICE = Assumed(0.1, 0.3, 1.0)
"""Device time of one large product over the many small ones it replaces."""
FULL_ENOUGH = Assumed(6.0, 2.5, 0.5)
"""From which fill on a kernel takes time in proportion to the batch: a transformer whose products
filled the device once took 3 times as long for 8 times the batch, a convolutional net less."""
AFTER_WAIT = Assumed(0.45, COLD, 1.05)
"""The range of ``edits.COLD``."""
SPLIT = Assumed(0.65, 1.0, 1.40)
"""Submission after Python is gone: how sure the split of the host line is (0.7 to 1.4 over six
recordings whose Python could be taken out)."""
SUBMITTING = (LineKind.CARRIER, LineKind.LAUNCH, LineKind.OP)
GRAPH_NODE_NS = Assumed(0.0, 350.0, 1_100.0)
"""Device time one node of a CUDA graph adds (H200: 0.35 us in 1,537 dependent tiny kernels,
1.1 us in a graph of 1,000 additions)."""
GRAPH_DEVICE = Assumed(0.93, 1.0, 1.10)
"""Device time inside a graph over the recorded: clocks rise in a denser step, or fall."""


def _marks_of(program: Program, marks: Marks) -> Marks:
    """Marks of the program's own items."""
    launch = program.work.launch
    names = [f.name for f in fields(marks) if f.name not in OF_DEVICE]
    return replace(marks, **{name: getattr(marks, name)[launch] for name in names})


def fused_optimizer(program: Program, marks: Marks, bound: Bound) -> Program:
    """One kernel for the whole update."""
    mine = _marks_of(program, marks).optimizer
    loop = marks.update == "loop"
    host, device = (
        (LOOP_TO_FUSED_HOST, LOOP_TO_FUSED_DEVICE) if loop else (FUSED_HOST, FUSED_DEVICE)
    )
    return _update(program, mine, host.at(bound), device.at(bound))


def foreach_optimizer(program: Program, marks: Marks, bound: Bound) -> Program:
    """One operator for all parameters at a time instead of one each."""
    mine = _marks_of(program, marks).optimizer
    return _update(program, mine, LOOP_TO_FOREACH_HOST.at(bound), LOOP_TO_FOREACH_DEVICE.at(bound))


def _update(program: Program, mine: Bools, host: float, device: float) -> Program:
    shorter = np.where(mine, program.work.dur * device, np.nan)
    return with_durations(scale_host_before(_no_gaps(program, mine), mine, host), shorter)


def _no_gaps(program: Program, item: Bools) -> Program:
    """Gaps between items that become one kernel go with them."""
    work = program.work
    return program.with_work(replace(work, lead=np.where(item, 0, work.lead)))


def tf32(program: Program, marks: Marks, bound: Bound) -> Program:
    """fp32 products on the tensor cores in TF32; a device of unknown rate changes nothing."""
    mine = _marks_of(program, marks)
    dur = _products(
        program, mine, *_on(TF32_PRODUCT, TF32_CONVOLUTION, marks.tf32_rate, H200_TF32), bound
    )
    return with_durations(program, dur)


def bf16(program: Program, marks: Marks, bound: Bound) -> Program:
    """Products and attention in fp32 or TF32 in bf16, other work on half the bytes."""
    mine = _marks_of(program, marks)
    dur = _products(
        program, mine, *_on(HALF_PRODUCT, HALF_CONVOLUTION, marks.bf16_rate, H200_BF16), bound
    )
    now = program.work.dur
    dur = np.where(mine.tf32, _from_tf32(now, mine, marks, bound), dur)
    known = 1.0 if marks.bf16_rate is None else marks.bf16_rate
    fused = now * FUSED_TO_HALF.on(known, H200_BF16).at(bound)
    other = ~mine.product & ~mine.upload & ~mine.download & ~mine.optimizer
    dur = np.where(other, now * HALF_OTHER.at(bound), dur)
    cast = scale_host_before(program, mine.fp32 | mine.tf32, HALF_HOST.at(bound))
    return with_durations(cast, np.where(mine.fused_fp32, fused, dur))


def _from_tf32(now: Ints, mine: Marks, marks: Marks, bound: Bound) -> Floats:
    """Durations in bf16 of products that run in TF32: half the bytes set a floor."""
    rate = (marks.bf16_rate or 1.0) / (marks.tf32_rate or marks.bf16_rate or 1.0)
    matrix, convolution = (
        each.on(rate, H200_BF16 / H200_TF32) for each in (TF32_TO_HALF, TF32_TO_HALF_CONVOLUTION)
    )
    factor = np.where(mine.convolution, convolution.at(bound), matrix.at(bound))
    return np.maximum(now * factor, np.nan_to_num(mine.memory_ns, nan=0.0) / 2)


def _on(
    matrix: Assumed, convolution: Assumed, rate: float | None, reference: float
) -> tuple[Assumed, Assumed]:
    """Both shortenings on the device at hand."""
    known = 1.0 if rate is None else rate
    return matrix.on(known, reference), convolution.on(known, reference)


def _products(
    program: Program, mine: Marks, matrix: Assumed, convolution: Assumed, bound: Bound
) -> Floats:
    """Durations of fp32 products at another precision; NaN elsewhere. Bytes set a floor."""
    factor = np.where(mine.convolution, convolution.at(bound), matrix.at(bound))
    floor = np.nan_to_num(mine.memory_ns, nan=0.0)
    return np.where(mine.fp32, np.maximum(program.work.dur * factor, floor), np.nan)


def sdpa(program: Program, marks: Marks, bound: Bound) -> Program:
    """Each hand-written attention as one fused kernel in place of its first product."""
    mine = _marks_of(program, marks)
    products = sum_by_group(mine.attention, np.where(mine.product, program.work.dur, 0.0))
    fused = sum_by_group(mine.attention, np.where(mine.product, mine.fused_ns, 0.0))
    first = first_of_group(mine.attention)
    guess = np.where(np.isnan(fused), products * FLASH.at(bound), fused * FUSED_RATE.at(bound))
    dur = np.where(first, guess, np.nan)
    rest = (mine.attention >= 0) & ~first
    grown = _lengthened(program, first, dur)
    return merge_items(grown, rest, MERGED_HOST.at(bound))


def _lengthened(program: Program, item: Bools, dur: Floats) -> Program:
    """Items take ``dur`` even where that is longer than now."""
    work = program.work
    new = np.where(item, np.rint(np.nan_to_num(dur)), work.dur).astype(np.int64)
    return program.with_work(replace(work, dur=new, busy=np.where(item, new, work.busy)))


def compile_fusion(program: Program, marks: Marks, bound: Bound) -> Program:
    """Chains of elementwise work and reductions merged into one kernel each."""
    mine = _marks_of(program, marks)
    chained = mine.chain >= 0
    if not chained.any():
        return program
    longest = most_by_group(mine.chain, program.work.dur.astype(np.float64))
    total = sum_by_group(mine.chain, program.work.dur.astype(np.float64))
    first = first_of_group(mine.chain)
    members = sum_by_group(mine.chain, np.ones(len(longest)))
    work = np.maximum(longest * CHAIN_LONGEST.at(bound) - EMPTY_KERNEL_NS, 0)
    merged = EMPTY_KERNEL_NS + work * (1 + CHAIN.at(bound) * (members - 1))
    grown = _lengthened(program, first, np.minimum(merged, total))
    others = scale_host_before(grown, ~chained & ~mine.optimizer, COMPILED_HOST.at(bound))
    return merge_items(others, chained & ~first, MERGED_HOST.at(bound))


def pinned_copies(program: Program, marks: Marks, bound: Bound) -> Program:
    """Copies from pinned memory with non_blocking=True: faster, and the host does not wait."""
    mine = _marks_of(program, marks)
    copies = (mine.upload | mine.download) & mine.pageable
    faster = np.where(mine.size > 0, mine.size / PINNED_GB_S.at(bound), np.nan)
    return with_durations(
        without_waits_for(program, copies & mine.upload), np.where(copies, faster, np.nan)
    )


def overlap_copies(program: Program, marks: Marks, bound: Bound) -> Program:
    """Uploads on a stream of their own, a batch ahead, from pinned memory."""
    mine = _marks_of(program, marks)
    return on_own_stream(pinned_copies(program, marks, bound), mine.upload)


def no_allocator_calls(program: Program, marks: Marks, bound: Bound) -> Program:
    """No allocation reaches the driver."""
    del marks, bound
    return without_host(program, LineKind.ALLOCATOR)


def contiguous(program: Program, marks: Marks, bound: Bound) -> Program:
    """Work on operands of one layout, after one copy that makes them match."""
    mine = _marks_of(program, marks)
    floor = mine.memory_ns * LAYOUT.at(bound)
    return with_durations(program, np.where(mine.fighting, floor, np.nan))


def vectorized(program: Program, marks: Marks, bound: Bound) -> Program:
    """What a Python loop need not repeat runs once before it."""
    mine = _marks_of(program, marks)
    device = HOISTED_DEVICE.at(bound)
    shorter = np.where(mine.hoistable, program.work.dur * device, np.nan)
    return scale_host_before(
        with_durations(_no_gaps(program, mine.hoistable), shorter), mine.hoistable, 0.0
    )


def no_submit_cost(program: Program, marks: Marks, bound: Bound) -> Program:
    """The whole step as one CUDA graph: no host work but the loader, device gaps of a graph."""
    del marks
    packed = edits.no_submit_cost(program, GRAPH_NODE_NS.at(bound))
    return scaled_device(packed, GRAPH_DEVICE.at(bound))


def no_sync(program: Program, marks: Marks, bound: Bound) -> Program:
    """The host never waits, and what followed a wait finds a warm processor."""
    del marks
    return edits.no_sync(program, AFTER_WAIT.at(bound))


def no_python(program: Program, marks: Marks, bound: Bound) -> Program:
    """Host time that no operator or call covers gone; the rest is as sure as the split."""
    del marks
    rest = without_host(program, LineKind.PYTHON)
    return scaled_kinds(rest, SUBMITTING, SPLIT.at(bound))


def kernels_at_roofline(program: Program, marks: Marks, bound: Bound) -> Program:
    """Every counted kernel at its roofline."""
    del bound
    return with_durations(program, _marks_of(program, marks).floor_ns)


def larger_batch(factor: int) -> MarkedEdit:
    """The same launches for ``factor`` times the samples; the step of the larger batch.

    The update and collectives on gradients depend on the parameters and stay as they are; at the
    slow end collectives grow too.
    """

    def edit(program: Program, marks: Marks, bound: Bound) -> Program:
        mine = _marks_of(program, marks)
        fill = np.nan_to_num(mine.fill, nan=np.inf)
        threshold = FULL_ENOUGH.at(bound)
        grown = np.where(
            fill >= threshold, factor, np.clip(fill * factor / max(threshold, 1e-9), 1.0, factor)
        )
        fixed = mine.optimizer | (mine.communication & (bound < 1))
        dur = program.work.dur * np.asarray(np.where(fixed, 1.0, grown), dtype=np.float64)
        bigger = _lengthened(program, np.ones(len(dur), dtype=np.bool_), dur.astype(np.float64))
        host = bigger.points.host.copy()
        host[:, LineKind.LOADER] *= factor
        return bigger.with_host(host)

    return edit
