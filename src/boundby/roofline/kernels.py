"""Device rows under the roofs: floors, limits and families of every kernel, copy and memset.

Costs are known an operator, not a kernel: all rows that one call of an operator launched share its
roof, and its floor in proportion to their time. Rows without a counted operator (graphs, custom
operators, no shapes) fall back on the family of their name.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from enum import IntEnum

import numpy as np
import numpy.typing as npt

from boundby.frozen import frozen
from boundby.read.recording import NONE, DeviceKind, Ints, Recording
from boundby.roofline.ceilings import Ceilings
from boundby.roofline.costs import Cost
from boundby.roofline.dtypes import kernel_dtype
from boundby.roofline.families import Family, classify_kernels
from boundby.roofline.operators import has_rule
from boundby.roofline.owners import launching_operators
from boundby.roofline.placement import Placement, place
from boundby.roofline.table import CostTable, Floats


class Side(IntEnum):
    """Which part of the device's time a row belongs to."""

    OTHER = 0
    """Nothing is known about it."""
    COMPUTE = 1
    MEMORY = 2
    COMMUNICATION = 3
    COPY = 4
    """Between host and device, or between devices."""


_SIDES = {
    "other": Side.OTHER,
    "compute": Side.COMPUTE,
    "memory": Side.MEMORY,
    "communication": Side.COMMUNICATION,
    "copy": Side.COPY,
}

_DOES_PRODUCTS = np.array([family.limit == "compute" for family in Family])


@frozen
class OperatorRun:
    """One call of an operator and the device rows it launched itself.

    Attributes:
        row: Its host row.
        kernels: int64 positions in ``KernelRoofs.rows``.
        main: Recorded name of the kernel that does the work: the longest of the family that fits.
        cost: None where uncounted.
        duration_ns: Summed device time of its rows.
        placement: None where uncounted or on an unknown device.
    """

    row: int
    kernels: Ints
    main: str
    cost: Cost | None
    duration_ns: int
    placement: Placement | None


@frozen
class KernelRoofs:
    """Device rows held against the ceilings, one element a row.

    Attributes:
        rows: int64 device rows asked for.
        dur: int64 ns.
        family: int8 Family.
        side: int8 Side: the nearer roof where counted, else what the family suggests.
        operator: int64 host row of the launching operator, NONE where none.
        flops: float64 operations of the rows that carry their operator's work; NaN elsewhere.
        bytes: float64 least bytes, likewise.
        floor_ns: float64 least time under both roofs, at most ``dur``; NaN where unknown.
        fills: bool, whether the operator fills at least a tenth of a roof; True where unknown.
        runs: Every call of an operator that launched any of the rows.
    """

    recording: Recording
    ceilings: Ceilings | None
    rows: Ints
    dur: Ints
    family: npt.NDArray[np.int8]
    side: npt.NDArray[np.int8]
    operator: Ints
    flops: Floats
    bytes: Floats
    floor_ns: Floats
    fills: npt.NDArray[np.bool_]
    runs: tuple[OperatorRun, ...]

    def __len__(self) -> int:
        return len(self.rows)

    def time_by_side(self) -> dict[Side, int]:
        """Summed ns of each side; rows that run at the same time are both counted."""
        return {side: int(self.dur[self.side == side].sum()) for side in Side}

    def time_by_family(self) -> dict[Family, int]:
        """Summed ns of each family that occurs."""
        return {
            f: int(self.dur[self.family == f].sum()) for f in Family if (self.family == f).any()
        }

    def uncounted(self) -> dict[str, int]:
        """Operators whose kernels ran uncounted, by name with their ns; longest first."""
        names, host = self.recording.names, self.recording.host
        communicates = self.family == Family.COMMUNICATION
        totals: Counter[int] = Counter()
        for run in self.runs:
            if run.cost is None and not communicates[run.kernels[0]]:
                totals[int(host.name[run.row])] += run.duration_ns
        return {names[name]: ns for name, ns in totals.most_common()}

    def unruled(self) -> dict[str, int]:
        """Of these, operators for which there is no rule; the others lack recorded shapes."""
        return {name: ns for name, ns in self.uncounted().items() if not has_rule(name)}


def measure_kernels(
    recording: Recording,
    rows: Ints,
    ceilings: Ceilings | None,
    table: CostTable | None = None,
) -> KernelRoofs:
    """Hold device rows against the roofs.

    Args:
        recording: What was read.
        rows: Device rows, for instance those that recorded steps launched.
        ceilings: Of their device; None where it is unknown, which leaves floors unknown.
        table: Costs already worked out.
    """
    work = recording.device
    names = work.name[rows]
    family = classify_kernels(recording.names, names)[names]
    side = np.array([_SIDES[f.limit] for f in Family], dtype=np.int8)[family]
    dur, empty = work.dur[rows], np.full(len(rows), np.nan)
    roofs = KernelRoofs(
        recording=recording,
        ceilings=ceilings,
        rows=rows,
        dur=dur,
        family=family,
        side=side,
        operator=launching_operators(recording)[rows],
        flops=empty.copy(),
        bytes=empty.copy(),
        floor_ns=empty.copy(),
        fills=np.ones(len(rows), dtype=np.bool_),
        runs=(),
    )
    _fill_transfers(roofs)
    runs = tuple(_operator_runs(roofs, table or CostTable(recording)))
    for run in runs:
        _fill_run(roofs, run)
    return KernelRoofs(**{**vars(roofs), "runs": runs})


def _fill_transfers(roofs: KernelRoofs) -> None:
    """Copies and memsets carry their size: within the device a copy reads and writes it."""
    work = roofs.recording.device
    kind, size = work.kind[roofs.rows], work.size[roofs.rows]
    inside = (kind == DeviceKind.COPY) & (roofs.family == Family.COPY)
    passes = np.where(inside, 2.0, np.where(kind == DeviceKind.MEMSET, 1.0, np.nan))
    known = (size != NONE) & ~np.isnan(passes)
    roofs.bytes[known] = (passes * size)[known]
    roofs.flops[known] = 0.0
    if roofs.ceilings is not None and roofs.ceilings.memory_gbs:
        floor = roofs.bytes / roofs.ceilings.memory_gbs
        roofs.floor_ns[known] = np.minimum(floor, roofs.dur)[known]


def _operator_runs(roofs: KernelRoofs, table: CostTable) -> Iterator[OperatorRun]:
    """Kernels by the call of the operator that launched them."""
    kernels = roofs.recording.device.kind[roofs.rows] == DeviceKind.KERNEL
    mine = np.flatnonzero(kernels & (roofs.operator != NONE))
    mine = mine[np.argsort(roofs.operator[mine], kind="stable")]
    if not len(mine):
        return
    cuts = np.flatnonzero(np.diff(roofs.operator[mine])) + 1
    for group in np.split(mine, cuts):
        yield _operator_run(roofs, table, group)


def _operator_run(roofs: KernelRoofs, table: CostTable, kernels: Ints) -> OperatorRun:
    row = int(roofs.operator[kernels[0]])
    main = _name(roofs, _main_kernel(roofs, kernels))
    cost = table.cost(row, kernel_dtype(main))
    if cost is not None and cost.is_free:
        cost = None  # a container that launched kernels itself: its work is not counted
    duration = int(roofs.dur[kernels].sum())
    placement = None
    if cost is not None and roofs.ceilings is not None:
        placement = place(cost, duration, roofs.ceilings, main)
    return OperatorRun(row, kernels, main, cost, duration, placement)


def _carriers(roofs: KernelRoofs, kernels: Ints) -> Ints:
    """Those of a family that does products; all of them if there is none."""
    if len(kernels) == 1:
        return kernels
    carriers = kernels[_DOES_PRODUCTS[roofs.family[kernels]]]
    return carriers if len(carriers) else kernels


def _main_kernel(roofs: KernelRoofs, kernels: Ints) -> int:
    """The longest kernel, one that does products if there is any."""
    candidates = _carriers(roofs, kernels)
    return int(candidates[np.argmax(roofs.dur[candidates])])


def _name(roofs: KernelRoofs, position: int) -> str:
    return roofs.recording.names[roofs.recording.device.name[roofs.rows[position]]]


def _fill_run(roofs: KernelRoofs, run: OperatorRun) -> None:
    """Give the rows of one operator their share of its work and of its floor."""
    cost, placement = run.cost, run.placement
    if cost is None:
        return
    carriers = _carriers(roofs, run.kernels) if cost.unit == "matrix" else run.kernels
    share = roofs.dur[carriers] / max(int(roofs.dur[carriers].sum()), 1)
    roofs.flops[carriers] = np.nan if cost.flops is None else cost.flops * share
    roofs.bytes[carriers] = np.nan if cost.bytes is None else cost.bytes * share
    if placement is None:
        return
    if placement.nearer is not None:
        roofs.side[run.kernels] = _SIDES[placement.nearer]
    roofs.fills[run.kernels] = placement.limited_by != "neither"
    if placement.floor_ns is not None:
        part = roofs.dur[run.kernels] / max(run.duration_ns, 1)
        roofs.floor_ns[run.kernels] = placement.floor_ns * part
