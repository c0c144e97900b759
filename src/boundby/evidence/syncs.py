"""What makes the host wait: how often, with how much device work outstanding, and where."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

import numpy as np

from boundby.distribution import distinct
from boundby.evidence.facts import Evidence
from boundby.evidence.frames import user_frames
from boundby.evidence.optree import OpTree, build_op_tree, holders
from boundby.evidence.places import describe, places_of
from boundby.evidence.tables import SyncRow
from boundby.evidence.waits import HostWaits, find_waits, outstanding
from boundby.evidence.words import figure, often
from boundby.intervals import Ints
from boundby.read.recording import Recording
from boundby.timeline.calls import CallKind
from boundby.timeline.hostline import WAIT_CARRIERS
from boundby.timeline.timeline import Timeline
from boundby.units import ms

KINDS = ("data-dependent-shape", "item", "host-copy", "explicit-sync", "allocator")
"""Of two that could claim a wait the earlier does: an item inside ``unique`` is the shape's."""
SHAPE, ITEM, COPY, EXPLICIT, ALLOCATOR = range(len(KINDS))

SHAPE_OPERATOR = re.compile(
    r"^aten::(_?unique\w*|nonzero(_numpy)?|argwhere|masked_select|repeat_interleave|bincount)$"
)
"""Operators whose output shape depends on values, so that the host must read them first. Indexing
with a boolean mask is ``aten::nonzero`` inside ``aten::index``."""
COPY_OPERATOR = re.compile(r"^aten::(copy_|_to_copy|to|_copy_from\w*)$")

SENTENCE = {
    "data-dependent-shape": "the host waits {often} a step to learn the shape of a result",
    "item": "the host waits {often} a step to read a value",
    "host-copy": "the host waits {often} a step for a copy from or to its memory",
    "explicit-sync": "the host is told {often} a step to wait for the device",
    "allocator": "the host asks the driver {often} a step to give or take back device memory",
}


CostOf = Callable[[Ints], float]
"""What a step would save without the waits of these host rows, ms."""


def sync_rows(
    timeline: Timeline, tree: OpTree | None = None, cost_of: CostOf | None = None
) -> tuple[SyncRow, ...]:
    """Host waits inside the steps by kind, most frequent first.

    Outstanding device work is what had been submitted and was not done when the wait began, on all
    streams: a deep queue makes a wait cheap.

    Args:
        timeline: Both lines.
        tree: Its forest, where the caller has it already.
        cost_of: Replays the step without some waits; without it ``cost_ms`` is None.
    """
    tree = tree or build_op_tree(timeline)
    waits = find_waits(timeline, tree)
    if not len(waits.node):
        return ()
    kind = kinds_of(timeline, tree, waits)
    left = outstanding(timeline, tree.start[waits.node])
    frames = user_frames(timeline.recording)
    rows = []
    for value in distinct(kind).tolist():
        mine = kind == value
        calls = tree.row[waits.node[mine]]
        rows.append(
            SyncRow(
                kind=KINDS[value],
                count_per_step=float(mine.sum()) / len(timeline.steps),
                outstanding_device_ms=ms(left[mine].mean()),
                cost_ms=cost_of(calls) if cost_of else None,
                where=places_of(timeline.recording, calls, frames),
            )
        )
    return tuple(sorted(rows, key=lambda row: -row.count_per_step))


def sync_facts(recording: Recording, rows: Sequence[SyncRow]) -> tuple[Evidence, ...]:
    """``wait-item``, ``wait-host-copy`` ...: waits a step by kind, with places to look at."""
    return tuple(_fact(recording, row) for row in rows)


def kinds_of(timeline: Timeline, tree: OpTree, waits: HostWaits) -> Ints:
    """int64[len(waits)]: index into KINDS of each wait, by the operators around it."""
    claim = _claims(timeline.recording.names, tree)
    copies = np.isin(waits.kind, (CallKind.COPY, CallKind.BLOCKING_COPY))
    kind = np.where(copies, COPY, EXPLICIT).astype(np.int64)
    for position, holder in holders(tree.parent, waits.node):
        kind[position] = np.minimum(kind[position], claim[tree.name[holder]])
    return np.asarray(np.where(waits.kind == CallKind.ALLOCATOR, ALLOCATOR, kind))


def _claims(names: list[str], tree: OpTree) -> Ints:
    """int64[len(names)]: the kind of wait that an operator of each name stands for."""
    claim = np.full(len(names), EXPLICIT, dtype=np.int64)
    for index in np.flatnonzero(np.bincount(tree.name[tree.is_op], minlength=1)).tolist():
        if SHAPE_OPERATOR.match(names[index]):
            claim[index] = SHAPE
        elif names[index] in WAIT_CARRIERS:
            claim[index] = ITEM
        elif COPY_OPERATOR.match(names[index]):
            claim[index] = COPY
    return claim


def _fact(recording: Recording, row: SyncRow) -> Evidence:
    text = SENTENCE[row.kind].format(often=often(row.count_per_step))
    if row.outstanding_device_ms is not None:
        text += f", with {figure(row.outstanding_device_ms)} ms of device work outstanding"
    if row.where:
        text += f", in {describe(row.where[0], row.kind, recording.source.path)}"
    identity = f"wait-{row.kind}"
    return Evidence(identity, row.count_per_step, "count", text, "measured", row.where)
