"""boundby: what bounds a PyTorch program, and what each fix would buy. Start at ``diagnose.py``."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from boundby.bench.correctness import check as check
    from boundby.bench.losscurve import check_training as check_training
    from boundby.bench.measure import bench as bench
    from boundby.bench.measurement import from_measurement as from_measurement
    from boundby.bench.measurement import to_measurement as to_measurement
    from boundby.bench.nan import find_nan as find_nan
    from boundby.bench.numerics import numerics as numerics
    from boundby.bench.timercheck import check_timer as check_timer

    __version__: str

LAZY = {
    "bench": "boundby.bench",  # a package that can be called
    "check": "boundby.bench.correctness:check",
    "check_timer": "boundby.bench.timercheck:check_timer",
    "check_training": "boundby.bench.losscurve:check_training",
    "compare_table": "boundby.report.bench:compare_table",
    "find_nan": "boundby.bench.nan:find_nan",
    "from_measurement": "boundby.bench.measurement:from_measurement",
    "numerics": "boundby.bench.numerics:numerics",
    "observe": "boundby.capture.api:observe",
    "observed": "boundby.capture.api:observed",
    "step": "boundby.capture.api:step",
    "to_measurement": "boundby.bench.measurement:to_measurement",
}
"""Where each public function is; it is imported when it is asked for."""


def __getattr__(name: str) -> Any:  # noqa: ANN401 -- functions and the version
    """Look a name up when it is asked for; importing it costs more than importing boundby."""
    if name == "__version__":
        from importlib.metadata import version  # noqa: PLC0415 -- lazily, see the docstring

        return version("boundby")
    if name in LAZY:
        module, _, attribute = LAZY[name].partition(":")
        found = import_module(module)
        return getattr(found, attribute) if attribute else found
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
