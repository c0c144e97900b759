"""The canonical order of rows, and rows that were written twice."""

from __future__ import annotations

import numpy as np

from boundby.read.columns import Array, Table, canonical_order, length, take
from boundby.read.recording import NONE, HostKind

_OUTERMOST_FIRST = np.zeros(len(HostKind), dtype=np.int8)
_OUTERMOST_FIRST[[HostKind.RANGE, HostKind.OP, HostKind.CALL, HostKind.OVERHEAD]] = range(
    len(HostKind)
)


def _repeats(table: Table) -> Array:
    """Mask of rows equal to the row before them in every column."""
    same = np.zeros(length(table), dtype=bool)
    if len(same) > 1:
        same[1:] = True
        for column in table.values():
            same[1:] &= column[1:] == column[:-1]
    return same


def order_host(host: Table) -> None:
    """Sort host rows; of rows with equal times ranges hold operators, and these hold calls."""
    host["rank"] = _OUTERMOST_FIRST[host["kind"]]
    order = canonical_order(
        host, ("rank", "external", "correlation", "thread", "sequence", "signature", "name")
    )
    del host["rank"]
    take(host, order)


def order_device(device: Table) -> None:
    """Sort device rows."""
    order = canonical_order(
        device,
        (
            "device",
            "stream",
            "correlation",
            "kind",
            "external",
            "size",
            "blocks",
            "threads",
            "name",
        ),
    )
    take(device, order)


def order_python(python: Table) -> None:
    """Sort frames; of frames with equal times the one entered first holds the other."""
    take(python, canonical_order(python, ("python_id", "thread", "name")))


def order_waits(waits: Table) -> None:
    """Sort waits."""
    take(waits, canonical_order(waits, ("correlation", "stream", "on_stream", "name")))


def drop_repeats(host: Table, device: Table, python: Table, waits: Table) -> int:
    """Remove rows written twice from sorted tables (in place); how many there were.

    A repeat is proven where the row has an identity: a correlation, an external or a Python id.
    Rows without one (frames of no length, ranges) may repeat lawfully, so they are dropped only if
    the file is proven to repeat others.
    """
    tables = (host, device, python, waits)
    repeats = [_repeats(table) for table in tables]
    named = (
        (host["correlation"] != NONE) | (host["external"] != NONE),
        (device["correlation"] != NONE) & (device["dur"] > 0),
        python["python_id"] != NONE,
        np.zeros(length(waits), dtype=bool),
    )
    if not any((repeat & identity).any() for repeat, identity in zip(repeats, named, strict=True)):
        return 0
    for table, repeat in zip(tables, repeats, strict=True):
        if repeat.any():
            take(table, ~repeat)
    return int(sum(repeat.sum() for repeat in repeats))
