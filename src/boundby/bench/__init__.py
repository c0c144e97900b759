"""Numbers that can be trusted: clocks, warm-up, statistics, caliber, correctness, comparison.

The package can be called: ``boundby.bench(fn, *args)`` is ``boundby.bench.measure.bench``.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any


class _CallableModule(ModuleType):
    """A package whose name is also that of its function."""

    def __call__(self, *args: Any, **keywords: Any) -> Any:  # noqa: ANN401 -- passes on
        """Measure a function; see ``boundby.bench.measure.bench``."""
        from boundby.bench.measure import bench  # noqa: PLC0415 -- importing a part is cheap

        return bench(*args, **keywords)


sys.modules[__name__].__class__ = _CallableModule
