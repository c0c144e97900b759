"""Marks of the launches: what each does, as far as what-if edits need to know."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from boundby.distribution import distinct
from boundby.evidence.casts import is_cast
from boundby.evidence.chains import chained_launches
from boundby.evidence.launched import Launched, nodes_named
from boundby.evidence.layout import fighting_launches
from boundby.evidence.loops import SLICE, find_loop
from boundby.evidence.precision import PRODUCTS, width
from boundby.evidence.scores import by_hand
from boundby.evidence.updates import find_update
from boundby.intervals import Ints
from boundby.read.recording import NONE, Device
from boundby.replay.marks import NO_GROUP, Marks
from boundby.roofline.dtypes import kernel_dtype
from boundby.roofline.families import Family, classify_kernels
from boundby.roofline.kernels import KernelRoofs
from boundby.roofline.patterns.attention import fused_ns
from boundby.timeline.copies import CopyKind, classify_copies

Bools = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]
_T = TypeVar("_T", bound=np.generic)

REDUCING = (Family.REDUCTION, Family.SOFTMAX, Family.NORM)
RESIDENT_THREADS = 2048
"""Threads a multiprocessor of NVIDIA's data-centre chips holds at once (CUDA programming guide,
compute capability 7.0 to 10.0: 2,048)."""


def mark_launches(launched: Launched, roofs: KernelRoofs, device: Device | None) -> Marks:
    """Marks of every launch of the timeline; launches outside steps carry none.

    Args:
        launched: The launches inside steps.
        roofs: Device rows held against the roofs; launches whose rows are not among them have
            no floors.
        device: The device they ran on, for how full it was.
    """
    timeline = launched.timeline
    count = len(timeline.launches)
    first = timeline.launches.first_row[launched.call]
    work, names = timeline.recording.device, timeline.recording.names
    family = classify_kernels(names, work.name)[launched.name]
    product = np.isin(family, PRODUCTS) & launched.is_kernel
    copy = np.where(
        launched.is_kernel, CopyKind.ON_DEVICE, classify_copies(names, work.name[first])
    )

    def flags(mine: Bools) -> Bools:
        return _spread(launched, mine, np.zeros(count, dtype=np.bool_))

    return Marks(
        optimizer=flags(launched.by_update),
        update=find_update(launched).kind,
        product=flags(product),
        convolution=flags(family == Family.CONVOLUTION),
        fp32=flags(product & _named(launched, lambda name: width(name) == "fp32")),
        tf32=flags(product & _named(launched, lambda name: width(name) == "tf32")),
        fused_fp32=flags(
            (family == Family.ATTENTION)
            & _named(launched, lambda name: kernel_dtype(name) == "float32")
        ),
        half=flags(product & _named(launched, lambda name: width(name) == "half")),
        cast=flags(is_cast(launched)),
        attention=_groups(launched, count, by_hand(launched)[1]),
        chain=_spread(
            launched, chained_launches(launched), np.full(count, NO_GROUP, dtype=np.int64)
        ),
        reduction=flags(np.isin(family, REDUCING)),
        communication=flags(family == Family.COMMUNICATION),
        hoistable=flags(_hoistable(launched, product)),
        fighting=flags(fighting_launches(launched)),
        upload=flags(np.isin(copy, (CopyKind.TO_DEVICE, CopyKind.TO_DEVICE_PINNED))),
        download=flags(np.isin(copy, (CopyKind.TO_HOST, CopyKind.TO_HOST_PINNED))),
        pageable=flags(np.isin(copy, (CopyKind.TO_DEVICE, CopyKind.TO_HOST))),
        size=_spread(launched, work.size[first], np.full(count, NONE, dtype=np.int64)),
        fill=_spread(launched, _fill(launched, first, product, device), _unknown(count)),
        floor_ns=_by_launch(launched, roofs, roofs.floor_ns),
        memory_ns=_by_launch(launched, roofs, _memory_time(roofs)),
        traffic=_by_launch(launched, roofs, roofs.bytes),
        fused_ns=_by_launch(launched, roofs, _fused_time(roofs)),
        tf32_rate=_over_fp32(roofs, "tf32"),
        bf16_rate=_over_fp32(roofs, "bfloat16"),
    )


def _over_fp32(roofs: KernelRoofs, key: str) -> float | None:
    """A peak rate of the device over that of fp32's own unit; None where either is unknown."""
    known = roofs.ceilings
    rate, vector = (known.tflops(key), known.tflops("float32")) if known else (None, None)
    return rate / vector if rate and vector else None


def _unknown(count: int) -> Floats:
    return np.full(count, np.nan)


def _spread(launched: Launched, values: npt.NDArray[_T], into: npt.NDArray[_T]) -> npt.NDArray[_T]:
    """Values of the launches inside steps, laid over all launches of the timeline."""
    into[launched.call] = values
    return into


def _named(launched: Launched, test: Callable[[str], bool]) -> Bools:
    """bool[m]: launches of a kernel whose name passes a test; each name is tested once."""
    used = distinct(launched.name)
    passed = used[np.array([test(launched.names[name]) for name in used.tolist()], dtype=np.bool_)]
    return np.isin(launched.name, passed) & launched.is_kernel


def _groups(launched: Launched, count: int, member: Bools) -> Ints:
    """Runs of neighbouring members of one step, numbered; NO_GROUP elsewhere."""
    groups = np.full(count, NO_GROUP, dtype=np.int64)
    if not member.any():
        return groups
    begins = member.copy()
    begins[1:] &= ~(member[:-1] & (launched.step[1:] == launched.step[:-1]))
    groups[launched.call[member]] = (np.cumsum(begins) - 1)[member]
    return groups


def _hoistable(launched: Launched, product: Bools) -> Bools:
    """Products of a Python loop that work on a slice taken since the launch before.

    What is sliced by the loop's counter is known before the loop begins: one product over the
    whole tensor can replace them.
    """
    loop = find_loop(launched)
    if not loop.repeats:
        return np.zeros(len(launched), dtype=np.bool_)
    slices = np.sort(launched.tree.start[nodes_named(launched, SLICE)])
    before = np.concatenate((launched.start[:1], launched.start[:-1]))
    taken = np.searchsorted(slices, launched.start) > np.searchsorted(slices, before)
    return np.asarray(loop.inside & product & taken)


def _fill(launched: Launched, first: Ints, product: Bools, device: Device | None) -> Floats:
    """Thread blocks over what the device holds at once: one block a multiprocessor for products."""
    work = launched.timeline.recording.device
    blocks, threads = work.blocks[first], work.threads[first]
    if device is None or not device.multiprocessors:
        return _unknown(len(first))
    resident = np.where(product, 1, RESIDENT_THREADS / np.maximum(threads, 1))
    known = (blocks > 0) & (threads > 0)
    return np.where(known, blocks / (device.multiprocessors * resident), np.nan)


def _memory_time(roofs: KernelRoofs) -> Floats:
    """Least time of each row by its bytes, ns; NaN where unknown."""
    if roofs.ceilings is None or not roofs.ceilings.memory_gbs:
        return _unknown(len(roofs))
    return roofs.bytes / roofs.ceilings.memory_gbs


def _fused_time(roofs: KernelRoofs) -> Floats:
    """Time of each product inside a fused kernel, ns; NaN where unknown and for other rows."""
    times = _unknown(len(roofs))
    for run in roofs.runs:
        if run.cost is not None and run.cost.unit == "matrix":
            fused = fused_ns(run.cost, roofs.ceilings)
            if fused is not None:
                times[run.kernels] = fused * roofs.dur[run.kernels] / max(run.duration_ns, 1)
    return times


def _by_launch(launched: Launched, roofs: KernelRoofs, value: Floats) -> Floats:
    """Sum over the rows of each launch; NaN unless every row is known."""
    timeline = launched.timeline
    total = _unknown(len(timeline.launches))
    owner = timeline.launches.of_row[roofs.rows]
    mine = owner != NONE
    sums = np.bincount(owner[mine], value[mine], minlength=len(total))
    rows = np.bincount(owner[mine], minlength=len(total))
    return np.where(rows > 0, sums, total)
