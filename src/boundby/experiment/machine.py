"""What a process can say of itself: its peaks of memory, its compilation, a recording."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

from boundby.bench.framework import torch, torch_module
from boundby.experiment.values import Memory

KIB = 1024
TEARDOWN = "TEARDOWN_CUPTI"
"""Without it the profiler's interface stays attached and slows later launches."""


def peaks(device: str) -> Memory:
    """Peaks since the process started, whatever was freed since."""
    if device == "cuda":
        cuda = torch().cuda
        free, total = cuda.mem_get_info()
        return Memory(
            peak=int(cuda.max_memory_allocated()),
            reserved=int(cuda.max_memory_reserved()),
            driver=int(total - free),
        )
    return Memory(peak=resident_peak())


def resident_peak() -> int | None:
    """Largest resident set of this process, bytes; None where the system does not say."""
    try:
        import resource  # noqa: PLC0415 -- no such module on Windows
    except ImportError:
        return None
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return int(most if sys.platform == "darwin" else most * KIB)


def resident_now(process: int) -> int | None:
    """Resident set of a process, bytes; None where it cannot be asked."""
    try:
        pages = int(Path(f"/proc/{process}/statm").read_text("ascii").split()[1])
    except (OSError, ValueError, IndexError):
        return None
    return pages * os.sysconf("SC_PAGE_SIZE")


def compile_seconds() -> float | None:
    """Seconds that torch spent compiling; None where nothing was compiled."""
    utils: Any = sys.modules.get("torch._dynamo.utils")
    if utils is None:
        return None
    times = getattr(utils, "compilation_time_metrics", {}).get("_compile.compile_inner", [])
    return float(sum(times)) if times else None


def traced(
    step: Callable[[], object],
    synchronize: Callable[[], None],
    steps: int,
    path: Path,
    device: str,
) -> None:
    """Record some steps with shapes, whole ones, after one that is not recorded."""
    profiler = torch_module("profiler")
    kinds = [profiler.ProfilerActivity.CPU]
    if device == "cuda":
        kinds.append(profiler.ProfilerActivity.CUDA)
        os.environ.setdefault(TEARDOWN, "1")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        plan = profiler.schedule(wait=0, warmup=1, active=steps, repeat=1)
        with profiler.profile(activities=kinds, schedule=plan, record_shapes=True) as recording:
            for number in range(steps + 1):
                step()
                if number in (0, steps):  # waits at both ends are the recording's own
                    synchronize()
                recording.step()
        recording.export_chrome_trace(str(path))
