"""Allocations through the driver inside steps: a caching allocator makes none."""

from __future__ import annotations

import re

import numpy as np

from boundby.evidence.launched import Launched
from boundby.evidence.naming import rows_named
from boundby.frozen import frozen
from boundby.read.recording import NONE
from boundby.timeline.calls import CallKind
from boundby.timeline.hostline import LineKind

GIVES_BACK = re.compile(r"Free|Unmap|Release")


@frozen
class Allocations:
    """Calls of the driver's allocator inside steps; all None without launches.

    Attributes:
        host_share: Share of recorded host time.
        calls: Calls a step.
        frees: Calls a step that give memory back.
    """

    host_share: float | None = None
    calls: float | None = None
    frees: float | None = None


def find_allocations(launched: Launched) -> Allocations:
    """The calls of the steps; one inside another (a driver's in a runtime's) counts once."""
    if not len(launched):
        return Allocations()
    timeline, tree = launched.timeline, launched.tree
    mine = ~tree.is_op & (timeline.calls[tree.name] == CallKind.ALLOCATOR)
    mine[mine] = ~mine[tree.parent[mine]] | (tree.parent[mine] == NONE)
    frees = rows_named(launched.names, tree.name[mine], GIVES_BACK.search)
    host = timeline.line.time_by_kind(timeline.steps.start, timeline.steps.end).sum(axis=0)
    return Allocations(
        host_share=float(host[LineKind.ALLOCATOR]) / launched.host_ns if launched.host_ns else None,
        calls=float(mine.sum()) / launched.steps,
        frees=float(np.count_nonzero(frees)) / launched.steps,
    )
