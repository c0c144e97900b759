"""Which process loads the batches, by the name of the iterator."""

from __future__ import annotations

import re
from collections.abc import Iterable

IN_PROCESS = re.compile(r"_SingleProcessDataLoaderIter")
IN_WORKERS = re.compile(r"_MultiProcessingDataLoaderIter")


def in_process(names: Iterable[str]) -> bool | None:
    """True where the training process loads, False where workers do; None without either name."""
    alone = False
    for name in names:
        if IN_WORKERS.search(name):
            return False
        alone = alone or IN_PROCESS.search(name) is not None
    return True if alone else None
