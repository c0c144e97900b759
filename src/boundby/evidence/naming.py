"""Which rows have a name that answers a question; each name is asked once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

Bools = npt.NDArray[np.bool_]


def rows_named(
    names: list[str],
    column: npt.NDArray[np.signedinteger[Any]],
    test: Callable[[str], object],
) -> Bools:
    """bool[len(column)]: whether the name of each row passes the test.

    Args:
        names: ``Recording.names``; only those that occur in ``column`` are tested.
        column: Index into ``names`` of each row.
        test: What a name must pass, e.g. ``pattern.search``.
    """
    passes = np.zeros(max(len(names), 1), dtype=np.bool_)
    for index in np.flatnonzero(np.bincount(column, minlength=1)).tolist():
        passes[index] = bool(test(names[index]))
    return np.asarray(passes[column], dtype=np.bool_)
