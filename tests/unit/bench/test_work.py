"""What a recorded call did, and which times that makes impossible; readings of the driver."""

import sys
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from boundby.bench import devices
from boundby.bench.result import Work
from boundby.bench.work import is_impossible, work_of
from boundby.cli.demos import demo_file
from boundby.read import read_recording
from boundby.roofline.ceilings import Ceilings


@pytest.fixture(scope="module")
def matmul():
    """Some products in fp32, recorded on an H200."""
    return read_recording(demo_file("fp32-matmul"))


def test_work_of_a_recording_has_a_floor_below_its_time(matmul):
    found = work_of(matmul)
    spent = int(matmul.device.dur.sum())

    assert found.launches == len(matmul.device)
    assert found.flops > 1e9
    assert found.bytes > 1e6
    assert 0.3 * spent < found.floor_ns < spent
    assert found.roofs.startswith("H200")


def test_a_time_below_the_floor_is_impossible(matmul):
    found = work_of(matmul)

    assert is_impossible(found.floor_ns * 0.9, found)
    assert not is_impossible(found.floor_ns * 0.97, found)  # clocks and rounding
    assert not is_impossible(1.0, Work(launches=1))


def test_bytes_that_the_cache_may_hold_make_no_floor(matmul):
    narrow = Ceilings("narrow", "override", "", memory_gbs=1.0, cache_mib=1e6)
    wide = Ceilings("narrow", "override", "", memory_gbs=1.0, cache_mib=0.0)

    assert work_of(matmul, narrow).floor_ns == 0.0
    assert work_of(matmul, wide).floor_ns > np.sum(matmul.device.dur)


class NVMLError(Exception):
    pass


@pytest.fixture
def nvml(monkeypatch):
    """A driver that answers, and a torch that has a device."""
    library = SimpleNamespace(
        NVMLError=NVMLError,
        NVML_CLOCK_SM=1,
        NVML_CLOCK_MEM=2,
        NVML_TEMPERATURE_GPU=0,
        nvmlInit=lambda: None,
        nvmlDeviceGetHandleByUUID=lambda uuid: uuid,
        nvmlDeviceGetHandleByIndex=lambda index: index,
        nvmlDeviceGetComputeRunningProcesses=lambda _: [SimpleNamespace(pid=1)],
        nvmlSystemGetDriverVersion=lambda: b"580.1",
        nvmlDeviceGetClockInfo=lambda _, which: 1980 if which == 1 else 3201,
        nvmlDeviceGetPerformanceState=lambda _: 0,
        nvmlDeviceGetTemperature=lambda *_: 40,
        nvmlDeviceGetCurrentClocksEventReasons=lambda _: 0x40,
    )
    monkeypatch.setitem(sys.modules, "pynvml", library)
    monkeypatch.setattr(devices, "find_spec", lambda _: object())
    monkeypatch.setattr(torch.cuda, "current_device", lambda: 0)
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda _: SimpleNamespace(uuid="abc"))
    return library


def test_a_reading_of_the_driver(nvml):
    found = devices.read_device()

    assert (found.driver, found.sm_mhz, found.memory_mhz) == ("580.1", 1980, 3201)
    assert found.throttle & devices.SLOWED
    assert found.others == 0  # one process: its id may be another in a container
    nvml.nvmlDeviceGetComputeRunningProcesses = lambda _: [SimpleNamespace(pid=1)] * 2
    assert devices.read_device().others == 2


def test_a_driver_that_does_not_answer(nvml, monkeypatch):
    def refuses(_):
        raise NVMLError

    nvml.nvmlDeviceGetPerformanceState = refuses
    assert devices.read_device() is None
    monkeypatch.setattr(devices, "find_spec", lambda _: None)
    assert devices.read_device() is None
