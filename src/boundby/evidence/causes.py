"""What refines a class: the cause, where one thing clearly leads."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from boundby.evidence.signs import Signs
from boundby.evidence.tables import SyncRow

LEADS = 0.5
"""Share of launches, host time or device time from which one thing is the cause of all of it."""
ALLOCATOR_LEADS = 0.05
"""Share of host time from which driver allocations are a cause: a caching allocator makes none."""
GUARDS_LEAD = 0.2
"""Share of host time from which the guards of compiled code are a cause."""
SEVERAL_GRAPHS = 2
HOST_CLASSES = ("launch-bound", "python-bound")


def find_causes(signs: Signs, syncs: Sequence[SyncRow]) -> dict[str, str]:
    """The cause that refines each class, by class name, where one is clear."""
    causes: dict[str, str] = {}
    waits = _leading_wait(syncs)
    if waits:
        causes["sync-bound"] = waits
    host = next(_host_causes(signs), None)
    if host:
        causes.update(dict.fromkeys(HOST_CLASSES, host))
    elif waits == "data-dependent-shape":
        causes["launch-bound"] = waits
    if _is_wide(signs):
        causes["compute-bound"] = "precision"
    memory = _leading(_memory_causes(signs))
    if memory:
        causes["memory-bound"] = memory
    return causes


def _leading_wait(syncs: Sequence[SyncRow]) -> str | None:
    """The kind of wait that costs most; where no cost was replayed, the most frequent."""
    if not syncs:
        return None
    return max(syncs, key=lambda row: (row.cost_ms or 0.0, row.count_per_step)).kind


def _host_causes(signs: Signs) -> Iterator[str]:
    """Causes of a slow host, the most certain first."""
    if max(signs.origins.optimizer or 0.0, signs.update.host_share or 0.0) >= LEADS:
        yield "optimizer"
    if (signs.allocations.host_share or 0.0) >= ALLOCATOR_LEADS:
        yield "allocator"
    if (signs.mode.guards or 0.0) >= GUARDS_LEAD:
        yield "guard"
    if (signs.mode.compiled_calls or 0.0) >= SEVERAL_GRAPHS and not signs.mode.in_graphs:
        yield "graph-break"
    if (signs.origins.casts or 0.0) >= LEADS:
        yield "cast"


def _is_wide(signs: Signs) -> bool:
    """Whether most products run in more than 16 bits."""
    precision = signs.precision
    wide = (precision.fp32 or 0.0) + (precision.tf32 or 0.0)
    return wide > 0 and wide >= LEADS * (precision.products or 0.0)


def _memory_causes(signs: Signs) -> Mapping[str, float]:
    return {
        "attention": signs.attention.by_hand or 0.0,
        "layout": signs.layout.fighting or 0.0,
        "cast": signs.origins.casts_device or 0.0,
    }


def _leading(shares: Mapping[str, float]) -> str | None:
    name = max(shares, key=lambda each: shares[each])
    return name if shares[name] >= LEADS else None
