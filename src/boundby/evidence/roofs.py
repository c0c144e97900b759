"""The steps under the roofs of their device, as one value."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal

import numpy as np

from boundby.evidence.launched import Launched
from boundby.evidence.wastes import LowerPrecision, Waste, find_wastes, lower_precision
from boundby.frozen import frozen
from boundby.read.recording import NONE, Device, DeviceKind
from boundby.replay.marks import Marks
from boundby.replay.program import Program
from boundby.roofline.ceilings import Ceilings, Peaks, override
from boundby.roofline.devices import match_device
from boundby.roofline.families import Family
from boundby.roofline.kernels import KernelRoofs, Side, measure_kernels
from boundby.roofline.measured import MeasuredCeilings, measured_for
from boundby.roofline.operators import has_rule
from boundby.roofline.placement import Doubt, LimitedBy
from boundby.roofline.summaries import (
    RoofLine,
    RowColumns,
    by_kernel,
    by_operator,
    row_columns,
    utilisation,
)
from boundby.timeline.timeline import Timeline
from boundby.units import NS_PER_MS

NOT_COMPUTED = (Family.COMMUNICATION, Family.TRANSFER)
"""Device time that no FLOP and no byte of device memory explains."""

Uncounted = Literal["no-rule", "no-shapes", "no-operator"]


@frozen
class RoofRow:
    """One operator or kernel by name, per step; None where uncounted, unknown or refused.

    Attributes:
        calls: Calls of the operator that launched work, or launches of the kernel.
        ms: Device time.
        counted: Share of it whose work is counted.
        family: Of most of its time (``matmul``, ``elementwise`` ...).
        flops: Operations, a multiply-add being two.
        bytes: Moved at least, if every distinct element moves once.
        intensity: FLOP per byte, at most.
        tflops: Achieved, TFLOP/s.
        gbs: Achieved, GB/s, at least.
        compute_share: Of the compute roof of its type and unit, 0 to 1.
        memory_share: Of the memory roof, at least.
        attained: Least time by ceilings measured on such a device, over the time; may exceed 1.
        limited_by: What limits most of its time.
        lost_ms: Above the floor of both roofs.
        doubt: Why figures were refused; empty where none was.
    """

    name: str
    calls: float
    ms: float
    counted: float
    family: str
    flops: float | None
    bytes: float | None
    intensity: float | None
    tflops: float | None
    gbs: float | None
    compute_share: float | None
    memory_share: float | None
    attained: float | None
    limited_by: LimitedBy
    lost_ms: float | None
    doubt: Doubt


@frozen
class SideRow:
    """Device time of one side, ms per step, and what would be left with every kernel at its roof.

    What is not counted is kept as it is.
    """

    side: str
    ms: float
    floor_ms: float


@frozen
class FamilyRow:
    """Device time of one family of kernels, ms per step: known without any size."""

    family: str
    ms: float


@frozen
class UncountedRow:
    """Device time that is not counted, ms per step.

    Attributes:
        name: Of the operator; of the kernel where no operator launched it.
        why: No rule for the operator, no sizes recorded, or no operator at all.
    """

    name: str
    ms: float
    why: Uncounted


@frozen
class Use:
    """How much of the peaks the step without the profiler uses; None where unknown.

    Attributes:
        mfu: Time of the counted products at the peaks of their own types, over the step.
        mfu_half: The same with all of them at the half-precision peak.
        memory: Least bytes at full bandwidth, over the step: at least.
        flops: Of the counted products, per step; None where no operator is counted.
        bytes: Least bytes of everything counted, per step; None where nothing is.
    """

    mfu: float | None
    mfu_half: float | None
    memory: float | None
    flops: float | None
    bytes: float | None


@frozen
class Roofline:
    """The steps under the roofs.

    Attributes:
        device: As the recording names it; empty where it does not.
        ceilings: What its kernels are held against; None for an unknown device.
        attainable: Measured on such a device by ``boundby device``; None where there is nothing.
        reason: Why there are no ceilings; empty where there are.
        steps: Steps that stand for the recording.
        counted: Share of computing device time whose work is counted.
        families: Longest first.
        operators, kernels: Longest first.
        uncounted: Longest first.
        wastes: Longest first.
        lower_precision: None where nothing runs in float32.
    """

    device: str
    ceilings: Ceilings | None
    attainable: Ceilings | None
    reason: str
    steps: int
    use: Use
    counted: float
    sides: tuple[SideRow, ...]
    families: tuple[FamilyRow, ...]
    operators: tuple[RoofRow, ...]
    kernels: tuple[RoofRow, ...]
    uncounted: tuple[UncountedRow, ...]
    wastes: tuple[Waste, ...]
    lower_precision: LowerPrecision | None


@frozen
class Held:
    """Device rows of some steps, held against the roofs of their device.

    Attributes:
        steps: Number of the steps.
    """

    roofs: KernelRoofs
    steps: int
    device: Device
    attainable: Ceilings | None
    reason: str


def hold(
    timeline: Timeline,
    program: Program,
    most_points: int,
    peaks: Peaks | None = None,
    measured: Sequence[MeasuredCeilings] = (),
) -> Held:
    """Hold the middle steps against the roofs.

    Args:
        most_points: Points of the program the steps may hold, as ``Program.middle_steps`` says.
        peaks: Figures given by the user.
        measured: Ceilings measured on any device; those of another are left alone.
    """
    first, last = program.middle_steps(most_points)
    rows = timeline.rows[(timeline.row_step >= first) & (timeline.row_step < last)]
    device = _device(timeline)
    match = match_device(device.name, device.memory_bytes, device.multiprocessors)
    ceilings = match.ceilings
    if peaks is not None:
        ceilings = override(ceilings, peaks, device.name)
    return Held(
        roofs=measure_kernels(timeline.recording, rows, ceilings),
        steps=last - first,
        device=device,
        attainable=measured_for(device, measured),
        reason="" if ceilings else match.reason,
    )


def _device(timeline: Timeline) -> Device:
    """The device the verdict is about, as far as the recording names it."""
    named = (d for d in timeline.recording.devices if d.id == timeline.device)
    return next(named, Device(timeline.device, ""))


def read_roofline(held: Held, launched: Launched, marks: Marks, step_ms: float) -> Roofline:
    """Add everything up.

    Args:
        launched: The launches of the steps.
        marks: What each is.
        step_ms: The step without the profiler.
    """
    roofs, steps = held.roofs, held.steps
    columns = row_columns(roofs, held.attainable)
    return Roofline(
        device=held.device.name,
        ceilings=roofs.ceilings,
        attainable=held.attainable,
        reason=held.reason,
        steps=steps,
        use=_use(roofs, steps, step_ms),
        counted=_counted(columns),
        sides=tuple(_sides(roofs, steps)),
        families=_families(roofs, steps),
        operators=tuple(_row(line, steps) for line in by_operator(roofs, columns)),
        kernels=tuple(_row(line, steps) for line in by_kernel(roofs, columns)),
        uncounted=_uncounted(columns, steps),
        wastes=find_wastes(launched, roofs, marks, steps),
        lower_precision=lower_precision(roofs, steps),
    )


def _row(line: RoofLine, steps: int) -> RoofRow:
    return RoofRow(
        name=line.name,
        calls=line.count / steps,
        ms=line.ns / NS_PER_MS / steps,
        counted=line.counted_ns / max(line.ns, 1),
        family=line.family.name.lower(),
        flops=None if line.flops is None else line.flops / steps,
        bytes=None if line.bytes is None else line.bytes / steps,
        intensity=line.intensity,
        tflops=line.tflops,
        gbs=line.gbs,
        compute_share=line.compute_share,
        memory_share=line.memory_share,
        attained=line.attained,
        limited_by=line.limited_by,
        lost_ms=None if line.lost_ns is None else line.lost_ns / NS_PER_MS / steps,
        doubt=line.doubt,
    )


def _use(roofs: KernelRoofs, steps: int, step_ms: float) -> Use:
    found = utilisation(roofs, step_ms * NS_PER_MS * steps)
    return Use(
        mfu=found.compute,
        mfu_half=found.half,
        memory=found.memory,
        flops=None if found.flops is None else found.flops / steps,
        bytes=None if found.bytes is None else found.bytes / steps,
    )


def _counted(columns: RowColumns) -> float:
    roofs = columns.roofs
    computes = ~np.isin(roofs.family, NOT_COMPUTED)
    known = int(roofs.dur[computes & columns.counted].sum())
    return known / max(int(roofs.dur[computes].sum()), 1)


def _sides(roofs: KernelRoofs, steps: int) -> Iterator[SideRow]:
    floor = np.where(np.isnan(roofs.floor_ns), roofs.dur, roofs.floor_ns)
    for side in Side:
        mine = roofs.side == side
        if mine.any():
            yield SideRow(
                side=side.name.lower(),
                ms=float(roofs.dur[mine].sum()) / NS_PER_MS / steps,
                floor_ms=float(floor[mine].sum()) / NS_PER_MS / steps,
            )


def _families(roofs: KernelRoofs, steps: int) -> tuple[FamilyRow, ...]:
    rows = (
        FamilyRow(family.name.lower(), ns / NS_PER_MS / steps)
        for family, ns in roofs.time_by_family().items()
    )
    return tuple(sorted(rows, key=lambda row: -row.ms))


def _uncounted(columns: RowColumns, steps: int) -> tuple[UncountedRow, ...]:
    roofs = columns.roofs
    rows = [
        UncountedRow(name, ns / NS_PER_MS / steps, "no-shapes" if has_rule(name) else "no-rule")
        for name, ns in roofs.uncounted().items()
    ]
    kernels = roofs.recording.device.kind[roofs.rows] == DeviceKind.KERNEL
    loose = kernels & (roofs.operator == NONE) & ~np.isin(roofs.family, NOT_COMPUTED)
    names = roofs.recording.device.name[roofs.rows[loose]]
    spent = np.bincount(names, roofs.dur[loose])
    rows += [
        UncountedRow(
            roofs.recording.names[index], float(spent[index]) / NS_PER_MS / steps, "no-operator"
        )
        for index in np.flatnonzero(spent).tolist()
    ]
    return tuple(sorted(rows, key=lambda row: -row.ms))
