"""Columns that grow slice by slice, and the canonical order of rows."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from boundby.read.recording import NONE

Array = npt.NDArray[Any]
Table = dict[str, Array]


class Interner(dict[Hashable, int]):
    """A dict that numbers keys by first appearance; ``values_in_order`` lists them."""

    def __init__(self) -> None:
        super().__init__()
        self.values_in_order: list[Any] = []

    def __missing__(self, key: Hashable) -> int:
        number = len(self.values_in_order)
        self[key] = number
        self.values_in_order.append(key)
        return number


class GrowingTable:
    """Columns of fixed types, appended in chunks and joined once."""

    def __init__(self, types: Mapping[str, type[np.generic]]) -> None:
        self._types = types
        self._chunks: dict[str, list[Array]] = {name: [] for name in types}

    def append(self, columns: Mapping[str, Array]) -> None:
        """Add rows; every column must be given."""
        for name, kind in self._types.items():
            self._chunks[name].append(columns[name].astype(kind, copy=False))

    def join(self) -> Table:
        """The whole columns. Chunks are let go column by column, so memory peaks at one extra."""
        table: Table = {}
        for name, kind in self._types.items():
            chunks = self._chunks.pop(name)
            table[name] = np.concatenate(chunks) if chunks else np.zeros(0, dtype=kind)
        return table


def integers(values: Sequence[Any]) -> npt.NDArray[np.int64]:
    """int64 of values that should be integers; NONE for those that are not."""
    try:
        return np.array(values, dtype=np.int64)
    except (TypeError, ValueError, OverflowError):
        return np.array([_integer(value) for value in values], dtype=np.int64)


def _integer(value: object) -> int:
    if not isinstance(value, (int, float, str)):
        return NONE
    try:
        number = int(value)
    except (ValueError, OverflowError):
        return NONE
    return number if -(1 << 63) <= number < (1 << 63) else NONE


def length(table: Mapping[str, Array]) -> int:
    """How many rows a table has."""
    return len(next(iter(table.values())))


def take(table: Table, rows: Array) -> None:
    """Keep ``rows`` (indices or a mask) of a table, in place and column by column."""
    for name in table:
        table[name] = table[name][rows]


def canonical_order(table: Table, ties: Iterable[str]) -> npt.NDArray[np.int64]:
    """Row order by start, longest first, then by the columns ``ties``; stable after that."""
    start = table["start"]
    order = np.argsort(start, kind="stable")
    ordered = start[order]
    equal = ordered[1:] == ordered[:-1]
    if not equal.any():
        return order
    tied = np.flatnonzero(np.append(equal, False) | np.append(False, equal))
    rows = order[tied]
    keys = [table[name][rows] for name in ties]
    order[tied] = rows[np.lexsort((*reversed(keys), -table["dur"][rows], start[rows]))]
    return order
