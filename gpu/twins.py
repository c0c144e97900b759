"""Record small programs, and measure them and their cured twins: ``python gpu/twins.py OUT``.

Every program runs in a process of its own, one after the other: warm-up, clean blocks, each twin
interleaved with the base, two recordings, clean blocks again. A program that fails is reported and
skipped. OUT gets

- ``twins.tar``: the recordings, ``DEVICE/NAME.json.gz`` and ``DEVICE/NAME.stack.json.gz``;
- ``truth.jsonl``: one line a recording, as boundby's accuracy check reads it;
- ``measurements.jsonl``: one line a program, with every run of every block;
- ``host_costs.json``: what the host pays for an operator, a launch, a wait and the profiler.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import sys
import tarfile
import time
import traceback
from collections.abc import Iterable
from multiprocessing.context import BaseContext
from pathlib import Path
from statistics import median
from typing import Any

# Before torch is imported. One thread compiles, so that no pool of workers competes with the host
# line; counting devices through NVML leaves a forked process free to use CUDA.
os.environ.setdefault("TORCHINDUCTOR_COMPILE_THREADS", "1")
os.environ.setdefault("PYTORCH_NVML_BASED_CUDA_CHECK", "1")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

PRELOADED = ["torch", "programs", "measure"]
LARGEST_RECORDING = 1_200_000
LARGEST_TAR = 15_500_000
HOST_COSTS = "host_costs"
Result = dict[str, Any]


def measure_twins(program: Any, base: Any, skipped: list[str]) -> Result:  # noqa: ANN401 (torch is not imported yet here)
    """Blocks of every twin, each beside blocks of the base."""
    import measure  # noqa: PLC0415 (only in the process that measures)
    from programs.program import GRAPH_TWIN  # noqa: PLC0415

    blocks = []
    for name in program.twins:
        if name in skipped:
            continue
        try:
            step = program.cured(name)
            cured = measure.warmed(name, measure.graphed(step) if name == GRAPH_TWIN else step)
        except Exception:  # noqa: BLE001 (whatever a twin does wrong, the others are measured)
            return {"failed_twin": name, "error": traceback.format_exc()}
        blocks += measure.interleaved(base, cured)
        del step, cured
        measure.free()
    return {"blocks": blocks}
