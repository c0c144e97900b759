"""The table a profiler prints: what each operator and each call costs a step, host and device."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from boundby.evidence.optree import OpTree, build_op_tree, sums_inside
from boundby.evidence.tables import OpRow
from boundby.intervals import Ints
from boundby.read.recording import NONE, Ints32
from boundby.timeline.timeline import Timeline
from boundby.units import NS_PER_MS

Floats = npt.NDArray[np.float64]


def operator_rows(timeline: Timeline, tree: OpTree | None = None) -> tuple[OpRow, ...]:
    """One row for each operator name and each call name, over the steps, times in ms per step.

    Host times are summed over threads, device times over streams, as profilers do. Self host is
    a row's time without its direct children; self device is the work of the launches whose
    innermost operator it is; an operator that calls itself counts once in its totals. A call has
    device time only where no operator is around it (a CUDA graph, a kernel launched from Python).

    Args:
        timeline: Both lines.
        tree: Its forest, where the caller has it already.
    """
    tree = tree or build_op_tree(timeline)
    names = len(timeline.recording.names)
    top = tree.outermost
    work = launched_work(timeline)[tree.launch]
    per_step = 1.0 / (NS_PER_MS * max(len(timeline.steps), 1))
    calls = np.bincount(tree.name, minlength=names)
    columns = (
        calls / max(len(timeline.steps), 1),
        _by_name(tree.name, tree.self_time, names) * per_step,
        _by_name(tree.name[top], (tree.end - tree.start)[top], names) * per_step,
        _by_name(tree.name[tree.carrier], work, names) * per_step,
        _total_device(tree, top, work, names) * per_step,
    )
    used = np.flatnonzero(calls)
    order = used[np.lexsort((-columns[1][used], -columns[4][used]))]
    values = np.stack(columns, axis=1)[order].tolist()
    return tuple(
        OpRow(timeline.recording.names[name], *row)
        for name, row in zip(order.tolist(), values, strict=True)
    )


def launched_work(timeline: Timeline) -> Floats:
    """float64[len(launches)] ns of device work each launch enqueued, summed over its rows."""
    of_row = timeline.launches.of_row[timeline.rows]
    kept = of_row != NONE
    durations = timeline.recording.device.dur[timeline.rows[kept]]
    work = np.bincount(of_row[kept], durations, minlength=len(timeline.launches))
    return np.asarray(work, dtype=np.float64)


def _total_device(tree: OpTree, top: npt.NDArray[np.bool_], work: Floats, names: int) -> Floats:
    """Ns by name: each launch counts once for every name among the operators around it."""
    own = np.bincount(tree.carrier, work, minlength=len(tree)).astype(np.int64)
    held = own + np.where(tree.is_op, sums_inside(tree.parent, own), 0)
    return _by_name(tree.name[top], held[top], names)


def _by_name(name: Ints | Ints32, weight: Ints | Floats, names: int) -> Floats:
    return np.asarray(np.bincount(name, weight, minlength=names), dtype=np.float64)
