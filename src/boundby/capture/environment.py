"""What surrounds the program and slows or falsifies it: other processes, clocks, switches, cores.

Looked at between steps, once the passes that measure time are over. Nothing here names a user, a
host or another process.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

from boundby.capture.loader import LoaderWatch

DEBUG_VARIABLES = (
    "CUDA_LAUNCH_BLOCKING",
    "PYTORCH_NO_CUDA_MEMORY_CACHING",
    "TORCH_SHOW_CPP_STACKTRACES",
    "CUDA_DEVICE_WAITS_ON_EXCEPTION",
    "PYTHONMALLOC",
    "PYTHONDEVMODE",
    "PYTHONTRACEMALLOC",
    "MALLOC_CHECK_",
)
"""Switches for debugging that cost time; only their names are noted."""
DEBUGGERS = ("pydevd", "debugpy", "pdb")
CGROUP_QUOTA = Path("/sys/fs/cgroup/cpu.max")
THROTTLE = {0x08: "hardware slowdown", 0x20: "heat", 0x40: "heat", 0x80: "external power brake"}
CAPPED = {0x02: "clocks set by an application", 0x04: "power cap"}
"""NVML's reasons for clocks below the highest: what harms, and what someone chose."""


def surroundings(loaders: LoaderWatch) -> dict[str, Any]:
    """All of it, as plain values; what cannot be known is None."""
    import torch

    workers = loaders.workers()
    return {
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else None,
        "quota": cpu_quota(),
        "threads": torch.get_num_threads(),
        "workers": len(workers),
        "worker_threads": max((threads_of(each) for each in workers), default=None),
        "switches": [name for name in DEBUG_VARIABLES if _is_set(name)],
        "anomaly": torch.is_anomaly_enabled(),
        "cudnn_benchmark": torch.backends.cudnn.benchmark,
        "debugger": debugger(),
        "traced": sys.gettrace() is not None or sys.getprofile() is not None,
        **device_state(),
    }


def cpu_quota(file: Path = CGROUP_QUOTA) -> float | None:
    """Cores that the control group grants; None where it sets no limit."""
    try:
        quota, period = file.read_text("ascii").split()
        return int(quota) / int(period)
    except (OSError, ValueError):
        return None


def threads_of(process: int) -> int:
    """Threads of a process; 0 where it is gone or cannot be asked."""
    try:
        return sum(1 for _ in Path(f"/proc/{process}/task").iterdir())
    except OSError:
        return 0


def debugger() -> str | None:
    """The debugger that is attached; None where there is none."""
    found = next((name for name in DEBUGGERS if name in sys.modules), None)
    return found if sys.gettrace() is not None or found in ("pydevd", "debugpy") else None


def device_state() -> dict[str, Any]:
    """Processes and clocks on the device in use, by NVML; empty without a device or NVML."""
    from boundby.capture.device import has_device  # noqa: PLC0415

    if not has_device():
        return {}
    try:
        nvml: Any = import_module("pynvml")
        nvml.nvmlInit()
    except Exception:  # noqa: BLE001 -- whatever a missing driver or library raises
        return {"nvml": False}
    try:
        return {"nvml": True, **dict(_readings(nvml))}
    finally:
        nvml.nvmlShutdown()


def _readings(nvml: Any) -> Iterator[tuple[str, Any]]:  # noqa: ANN401 -- a module
    """Each reading that this driver gives."""
    import torch

    uuid = str(torch.cuda.get_device_properties(torch.cuda.current_device()).uuid)
    uuid = uuid if uuid.startswith("GPU-") else f"GPU-{uuid}"
    try:
        device = nvml.nvmlDeviceGetHandleByUUID(uuid)
    except nvml.NVMLError:
        return
    asks: dict[str, Callable[[], Any]] = {
        "clock_mhz": lambda: nvml.nvmlDeviceGetClockInfo(device, nvml.NVML_CLOCK_SM),
        "most_mhz": lambda: nvml.nvmlDeviceGetMaxClockInfo(device, nvml.NVML_CLOCK_SM),
        "reasons": lambda: _reasons(nvml.nvmlDeviceGetCurrentClocksThrottleReasons(device)),
        "others": lambda: _others(nvml.nvmlDeviceGetComputeRunningProcesses(device)),
    }
    for name, ask in asks.items():
        try:
            yield name, ask()
        except nvml.NVMLError:
            yield name, None


def _reasons(mask: int) -> list[str]:
    return sorted({text for bit, text in {**THROTTLE, **CAPPED}.items() if mask & bit})


def _others(running: list[Any]) -> int:
    """Processes on the device besides this one; in a container this one may go by another id."""
    mine = sum(each.pid == os.getpid() for each in running)
    return len(running) - mine if mine else max(len(running) - 1, 0)


def _is_set(name: str) -> bool:
    return os.environ.get(name, "0") not in ("", "0")
