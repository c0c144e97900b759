"""What the driver says of the device: clocks, temperature, and who else uses it. Nothing is set."""

from __future__ import annotations

import os
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from boundby.bench.framework import torch


@dataclass(frozen=True)
class DeviceReading:
    """One reading.

    Attributes:
        driver: Version.
        sm_mhz, memory_mhz: Clocks, MHz.
        power_state: 0 is the highest.
        celsius: Temperature.
        throttle: Bits of NVML's reasons why clocks are held down.
        others: Processes of others on the device; in a container the driver may hide them.
    """

    driver: str
    sm_mhz: int
    memory_mhz: int
    power_state: int
    celsius: int
    throttle: int
    others: int


SLOWED = 0x8 | 0x20 | 0x40 | 0x80
"""Hardware slowdown, software thermal, hardware thermal, power brake (nvml.h)."""


def read_device() -> DeviceReading | None:
    """A reading of torch's current device; None without nvidia-ml-py, or where it fails."""
    if find_spec("pynvml") is None:
        return None
    nvml: Any = import_module("pynvml")
    try:
        nvml.nvmlInit()
        handle = _handle(nvml)
        running = nvml.nvmlDeviceGetComputeRunningProcesses(handle)
        return DeviceReading(
            driver=_text(nvml.nvmlSystemGetDriverVersion()),
            sm_mhz=nvml.nvmlDeviceGetClockInfo(handle, nvml.NVML_CLOCK_SM),
            memory_mhz=nvml.nvmlDeviceGetClockInfo(handle, nvml.NVML_CLOCK_MEM),
            power_state=nvml.nvmlDeviceGetPerformanceState(handle),
            celsius=nvml.nvmlDeviceGetTemperature(handle, nvml.NVML_TEMPERATURE_GPU),
            throttle=_slowed(nvml, handle),
            others=sum(each.pid != os.getpid() for each in running) if len(running) > 1 else 0,
        )
    except (nvml.NVMLError, AttributeError):  # not permitted, or another version of the library
        return None


def _slowed(nvml: Any, handle: Any) -> int:  # noqa: ANN401 -- NVML's own
    """Bits of the reasons; the function was renamed in NVML 12.2."""
    read = getattr(nvml, "nvmlDeviceGetCurrentClocksThrottleReasons", None)
    return int((read or nvml.nvmlDeviceGetCurrentClocksEventReasons)(handle))


def _handle(nvml: Any) -> Any:  # noqa: ANN401 -- an NVML handle
    """The device that torch calls current: CUDA_VISIBLE_DEVICES may renumber it."""
    index = torch().cuda.current_device()
    uuid = getattr(torch().cuda.get_device_properties(index), "uuid", None)
    if uuid is not None:
        return nvml.nvmlDeviceGetHandleByUUID(f"GPU-{uuid}".encode())
    return nvml.nvmlDeviceGetHandleByIndex(index)


def _text(value: object) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)
