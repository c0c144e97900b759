"""Operators and kernels under the roofs, added up by name; use of the peaks over a span of time."""

from __future__ import annotations

from typing import Any, get_args

import numpy as np
import numpy.typing as npt

from boundby.distribution import distinct
from boundby.frozen import frozen
from boundby.read.recording import NONE, Ints
from boundby.roofline.ceilings import Ceilings
from boundby.roofline.families import Family
from boundby.roofline.kernels import KernelRoofs
from boundby.roofline.placement import OVER, Doubt, LimitedBy, compute_peak, tera_per_second
from boundby.roofline.table import Floats
from boundby.units import NS_PER_S

LIMITS: tuple[LimitedBy, ...] = get_args(LimitedBy)
DOUBTS: tuple[Doubt, ...] = get_args(Doubt)


@frozen
class RoofLine:
    """Everything of one name, added up.

    Attributes:
        name: Of the operator or kernel, as recorded.
        count: Calls of the operator, or launches of the kernel.
        ns: Device time.
        counted_ns: Of it, the time whose work is counted.
        family: Of most of the time.
        flops: Operations; None where nothing is counted.
        bytes: Least bytes, likewise.
        tflops: Achieved over the time whose figure was not refused, TFLOP/s.
        gbs: Likewise, GB/s, at least.
        compute_share: Of the compute roof over that time, 0 to 1; None where it is not known.
        memory_share: Of the memory roof, likewise, at least.
        attained: Least time under measured ceilings over the time, which may exceed 1: they are
            those of a few shapes. None without them.
        lost_ns: Time above the floor of both roofs; None on an unknown device.
        limited_by: What limits most of the time.
        doubt: Why most of the refused figures were refused; empty where none was.
    """

    name: str
    count: int
    ns: int
    counted_ns: int
    family: Family
    flops: float | None
    bytes: float | None
    tflops: float | None
    gbs: float | None
    compute_share: float | None
    memory_share: float | None
    attained: float | None
    lost_ns: float | None
    limited_by: LimitedBy
    doubt: Doubt

    @property
    def intensity(self) -> float | None:
        """FLOP per byte, at most."""
        return None if self.flops is None or not self.bytes else self.flops / self.bytes


@frozen
class RowColumns:
    """What the runs say of each row, index as in ``KernelRoofs.rows``.

    Attributes:
        roofs: The rows.
        counted: bool, whether the work of the row's operator is counted.
        compute_share, memory_share: float64 of the roofs, NaN where unknown or refused.
        attained: float64 least time under measured ceilings over the time; NaN where unknown.
        no_tflops, no_gbs: bool, whether the figure was refused.
        limit: int8 index into LIMITS.
        doubt: int8 index into DOUBTS.
    """

    roofs: KernelRoofs
    counted: npt.NDArray[np.bool_]
    compute_share: Floats
    memory_share: Floats
    attained: Floats
    no_tflops: npt.NDArray[np.bool_]
    no_gbs: npt.NDArray[np.bool_]
    limit: npt.NDArray[np.int8]
    doubt: npt.NDArray[np.int8]


def row_columns(roofs: KernelRoofs, attainable: Ceilings | None = None) -> RowColumns:
    """Lay the placements of the runs over their rows; copies and memsets stand under memory.

    Args:
        attainable: Ceilings measured on such a device.
    """
    size = len(roofs)
    least = floors_under(roofs, attainable) if attainable else np.full(size, np.nan)
    alone = ~np.isnan(roofs.bytes)
    columns = RowColumns(
        roofs=roofs,
        counted=alone.copy(),
        compute_share=np.full(size, np.nan),
        memory_share=np.where(alone, roofs.floor_ns / np.maximum(roofs.dur, 1), np.nan),
        attained=least / np.maximum(roofs.dur, 1),
        no_tflops=np.zeros(size, dtype=np.bool_),
        no_gbs=np.zeros(size, dtype=np.bool_),
        limit=np.where(
            alone & ~np.isnan(roofs.floor_ns), LIMITS.index("memory"), LIMITS.index("unknown")
        ).astype(np.int8),
        doubt=np.zeros(size, dtype=np.int8),
    )
    for run in roofs.runs:
        rows, placed = run.kernels, run.placement
        columns.counted[rows] = run.cost is not None
        columns.limit[rows] = LIMITS.index(placed.limited_by if placed else "unknown")
        columns.compute_share[rows] = _value(placed.compute_share if placed else None)
        columns.memory_share[rows] = _value(placed.memory_share if placed else None)
        if placed is not None and run.cost is not None:
            columns.no_tflops[rows] = placed.tflops is None and run.cost.flops is not None
            columns.no_gbs[rows] = placed.gbs is None and run.cost.bytes is not None
            columns.doubt[rows] = DOUBTS.index(placed.doubt)
    return columns


def _value(share: float | None) -> float:
    return np.nan if share is None else share


def by_operator(roofs: KernelRoofs, columns: RowColumns | None = None) -> list[RoofLine]:
    """One line an operator, longest first."""
    columns = columns or row_columns(roofs)
    mine = np.flatnonzero(roofs.operator != NONE)
    names = roofs.recording.host.name
    calls = names[distinct(roofs.operator[mine])]
    group = names[roofs.operator[mine]].astype(np.int64)
    return _lines(columns, mine, group, np.bincount(calls, minlength=1), columns.counted[mine])


def by_kernel(roofs: KernelRoofs, columns: RowColumns | None = None) -> list[RoofLine]:
    """One line a kernel, longest first; work counted where the kernel carries its operator's."""
    columns = columns or row_columns(roofs)
    group = roofs.recording.device.name[roofs.rows].astype(np.int64)
    carries = ~np.isnan(roofs.bytes) | ~np.isnan(roofs.flops)
    return _lines(columns, np.arange(len(roofs)), group, np.bincount(group, minlength=1), carries)


def _lines(
    columns: RowColumns,
    rows: Ints,
    group: Ints,
    counts: Ints,
    working: npt.NDArray[np.bool_],
) -> list[RoofLine]:
    """One line a group.

    Args:
        rows: Positions in the roofs.
        group: int64[len(rows)] index of the name of each.
        counts: How often each name occurs.
        working: bool[len(rows)] rows whose time the counted work took.
    """
    order = np.argsort(group, kind="stable")
    cuts = np.flatnonzero(np.diff(group[order])) + 1
    parts = np.split(order, cuts) if len(order) else []
    lines = [
        _line(columns, rows[part], int(group[part[0]]), int(counts[group[part[0]]]), working[part])
        for part in parts
    ]
    return sorted(lines, key=lambda line: -line.ns)


def _line(
    columns: RowColumns, mine: Ints, name: int, count: int, working: npt.NDArray[np.bool_]
) -> RoofLine:
    roofs = columns.roofs
    dur, flops, bytes_ = roofs.dur[mine], roofs.flops[mine], roofs.bytes[mine]
    shows_flops = working & ~columns.no_tflops[mine]
    shows_bytes = working & ~columns.no_gbs[mine]
    gbs = _rate(bytes_, dur, shows_bytes)
    return RoofLine(
        name=roofs.recording.names[name],
        count=count,
        ns=int(dur.sum()),
        counted_ns=int(dur[working].sum()),
        family=Family(_longest(roofs.family[mine], dur)),
        flops=_total(flops),
        bytes=_total(bytes_),
        tflops=_rate(flops, dur, shows_flops),
        gbs=None if gbs is None else gbs * 1e3,
        compute_share=_mean(columns.compute_share[mine], dur),
        memory_share=_mean(columns.memory_share[mine], dur),
        attained=_mean(columns.attained[mine], dur),
        lost_ns=_total(dur - roofs.floor_ns[mine]),
        limited_by=LIMITS[_longest(columns.limit[mine], dur)],
        doubt=_doubt(columns.doubt[mine], dur),
    )


def _total(values: Floats) -> float | None:
    known = ~np.isnan(values)
    return float(values[known].sum()) if known.any() else None


def _rate(amount: Floats, dur: Ints, shown: npt.NDArray[np.bool_]) -> float | None:
    """Terascale rate over the time whose figure is shown."""
    return tera_per_second(_total(amount[shown]), float(dur[shown].sum()))


def _mean(share: Floats, dur: Ints) -> float | None:
    """Mean over the time whose share is known."""
    known = ~np.isnan(share)
    total = float(dur[known].sum())
    return float((share[known] * dur[known]).sum()) / total if total else None


def _longest(kind: npt.NDArray[np.integer[Any]], dur: Ints) -> int:
    return int(np.bincount(kind, dur).argmax())


def _doubt(doubt: npt.NDArray[np.int8], dur: Ints) -> Doubt:
    doubted = doubt > 0
    return DOUBTS[_longest(doubt[doubted], dur[doubted])] if doubted.any() else ""


def floors_under(roofs: KernelRoofs, ceilings: Ceilings) -> Floats:
    """float64[len(roofs)] ns: least time of each row under other ceilings; NaN where unknown.

    Measured ceilings are those of a few shapes: work may be a little faster, and is not cut here.
    """
    floors = np.full(len(roofs), np.nan)
    if ceilings.memory_gbs:
        floors = roofs.bytes / ceilings.memory_gbs
    for run in roofs.runs:
        floors[run.kernels] = np.nan
        if run.cost is None:
            continue
        peak = compute_peak(run.cost, run.main, ceilings, run.duration_ns).tflops
        least = [
            amount / rate
            for amount, rate in (
                (run.cost.flops, (peak or 0.0) * 1e12 / NS_PER_S),
                (run.cost.bytes, (ceilings.memory_gbs or 0.0) * 1e9 / NS_PER_S),
            )
            if amount is not None and rate
        ]
        if least:
            part = roofs.dur[run.kernels] / max(run.duration_ns, 1)
            floors[run.kernels] = max(least) * part
    return floors


@frozen
class Utilisation:
    """How much of the peaks a span of time used.

    Attributes:
        compute: Time the counted products would take at their peaks, over the span: what is called
            MFU where every product belongs to the model. Recomputed ones are in it too.
        half: The same with every product at the half-precision peak, whatever its type.
        memory: Least bytes at full bandwidth, over the span: the figure for decoding; at least.
        flops: Of the counted products (matrix unit); None where no operator is counted.
        bytes: Least bytes of everything counted; None where nothing is.
    """

    compute: float | None
    half: float | None
    memory: float | None
    flops: float | None
    bytes: float | None


def utilisation(roofs: KernelRoofs, span_ns: float) -> Utilisation:
    """Use of both roofs over a span, for instance the steps that launched the rows.

    Args:
        roofs: The rows of the span.
        span_ns: Its length; device time is not enough, since idle time counts.
    """
    products = [r for r in roofs.runs if r.cost is not None and r.cost.unit == "matrix"]
    shares = [
        r.placement.compute_share * r.duration_ns
        for r in products
        if r.placement is not None and r.placement.compute_share is not None
    ]
    moved = _total(roofs.bytes)
    counted = any(r.cost is not None for r in roofs.runs)
    flops = sum(r.cost.flops or 0.0 for r in products if r.cost is not None) if counted else None
    bandwidth = roofs.ceilings.memory_gbs if roofs.ceilings is not None else None
    half = _half_rate(roofs.ceilings)
    return Utilisation(
        compute=_possible(sum(shares) / span_ns if shares and span_ns > 0 else None),
        half=_possible(flops / half / span_ns if half and flops and span_ns > 0 else None),
        memory=_possible(
            moved / bandwidth / span_ns if moved and bandwidth and span_ns > 0 else None
        ),
        flops=flops,
        bytes=moved,
    )


def _possible(share: float | None) -> float | None:
    """A share of a ceiling; None beyond it, which tells of a wrong ceiling and of nothing else."""
    return None if share is None or share > OVER else share


def _half_rate(ceilings: Ceilings | None) -> float | None:
    """FLOP per ns in half precision; None where the device has no such rate or it is unknown."""
    if ceilings is None:
        return None
    rate = ceilings.tflops("bfloat16") or ceilings.tflops("float16")
    return None if rate is None else rate * 1e12 / NS_PER_S
