"""Operators and kernels under the roofs, added up by name; use of the peaks over a span of time."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from boundby.roofline.families import Family
from boundby.roofline.kernels import KernelRoofs, OperatorRun
from boundby.roofline.placement import LimitedBy, tera_per_second


@dataclass(frozen=True)
class RoofLine:
    """Everything of one name, added up.

    Attributes:
        name: Of the operator or kernel, as recorded.
        count: Calls of the operator, or launches of the kernel.
        ns: Device time.
        counted_ns: Of it, the time whose work is counted.
        flops: Operations; None where nothing is counted.
        bytes: Least bytes, likewise.
        lost_ns: Counted time above the floor of both roofs; None on an unknown device.
        limited_by: What limits most of the time.
    """

    name: str
    count: int
    ns: int
    counted_ns: int
    flops: float | None
    bytes: float | None
    lost_ns: float | None
    limited_by: LimitedBy

    @property
    def tflops(self) -> float | None:
        """Achieved over the counted time, TFLOP/s."""
        return tera_per_second(self.flops, self.counted_ns)

    @property
    def gbs(self) -> float | None:
        """Achieved over the counted time, GB/s, at least."""
        rate = tera_per_second(self.bytes, self.counted_ns)
        return None if rate is None else rate * 1e3

    @property
    def intensity(self) -> float | None:
        """FLOP per byte, at most."""
        return None if self.flops is None or not self.bytes else self.flops / self.bytes


def by_operator(roofs: KernelRoofs) -> list[RoofLine]:
    """One line an operator, longest first."""
    names, host = roofs.recording.names, roofs.recording.host
    groups: dict[str, list[OperatorRun]] = defaultdict(list)
    for run in roofs.runs:
        groups[names[host.name[run.row]]].append(run)
    return sorted(
        (_line(name, runs, len(runs)) for name, runs in groups.items()), key=lambda line: -line.ns
    )


def _line(name: str, runs: list[OperatorRun], count: int) -> RoofLine:
    counted = [run for run in runs if run.cost is not None]
    limits: Counter[LimitedBy] = Counter()
    for run in runs:
        limits[run.placement.limited_by if run.placement else "unknown"] += run.duration_ns
    floors = [(r.duration_ns, r.placement.floor_ns) for r in counted if r.placement is not None]
    lost = [ns - floor for ns, floor in floors if floor is not None]
    return RoofLine(
        name=name,
        count=count,
        ns=sum(run.duration_ns for run in runs),
        counted_ns=sum(run.duration_ns for run in counted),
        flops=_total(run.cost.flops for run in counted if run.cost),
        bytes=_total(run.cost.bytes for run in counted if run.cost),
        lost_ns=sum(lost) if lost else None,
        limited_by=limits.most_common(1)[0][0],
    )


def _total(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) if known else None


def by_kernel(roofs: KernelRoofs) -> list[RoofLine]:
    """One line a kernel, longest first; work counted where the kernel carries its operator's."""
    limit = _row_limits(roofs)
    lines = []
    names = roofs.recording.device.name[roofs.rows]
    for name in np.unique(names):
        mine = np.flatnonzero(names == name)
        counted = mine[~np.isnan(roofs.bytes[mine]) | ~np.isnan(roofs.flops[mine])]
        floors = roofs.floor_ns[mine]
        limits: Counter[LimitedBy] = Counter()
        for row in mine:
            limits[limit[row]] += int(roofs.dur[row])
        lines.append(
            RoofLine(
                name=roofs.recording.names[name],
                count=len(mine),
                ns=int(roofs.dur[mine].sum()),
                counted_ns=int(roofs.dur[counted].sum()),
                flops=_total(_known(roofs.flops[counted])),
                bytes=_total(_known(roofs.bytes[counted])),
                lost_ns=_total(_known(roofs.dur[mine] - floors)),
                limited_by=limits.most_common(1)[0][0],
            )
        )
    return sorted(lines, key=lambda line: -line.ns)


def _known(values: np.ndarray) -> Iterator[float | None]:
    return (None if np.isnan(value) else float(value) for value in values)


def _row_limits(roofs: KernelRoofs) -> list[LimitedBy]:
    limits: list[LimitedBy] = ["unknown"] * len(roofs)
    for run in roofs.runs:
        if run.placement is not None:
            for row in run.kernels:
                limits[row] = run.placement.limited_by
    return limits


@dataclass(frozen=True)
class Utilisation:
    """How much of the peaks a span of time used.

    Attributes:
        compute: Time the counted products would take at their peaks, over the span: what is called
            MFU where every product belongs to the model. Recomputed ones are in it too.
        memory: Least bytes at full bandwidth, over the span: the figure for decoding; at least.
        flops: Of the counted products (matrix unit).
        bytes: Least bytes of everything counted.
    """

    compute: float | None
    memory: float | None
    flops: float
    bytes: float


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
    moved = float(np.nansum(roofs.bytes))
    bandwidth = roofs.ceilings.memory_gbs if roofs.ceilings is not None else None
    return Utilisation(
        compute=sum(shares) / span_ns if shares and span_ns > 0 else None,
        memory=moved / bandwidth / span_ns if bandwidth and span_ns > 0 else None,
        flops=sum(r.cost.flops or 0.0 for r in products if r.cost is not None),
        bytes=moved,
    )


def family_shares(roofs: KernelRoofs) -> dict[Family, float]:
    """Share of the summed device time by family."""
    total = max(int(roofs.dur.sum()), 1)
    return {family: ns / total for family, ns in roofs.time_by_family().items()}
