"""Measured ceilings: written to the cache folder, read back, matched to a recording's device."""

import json
from pathlib import Path

import pytest

from boundby.read.recording import Device
from boundby.roofline.measured import (
    MeasuredCeilings,
    cache_folder,
    device_key,
    load_all,
    measured_for,
    store,
)

H200 = device_key("NVIDIA H200", 150109880320, 132)
MEASURED = MeasuredCeilings(H200, 4220.0, {"float32": 50.7, "bfloat16": 759.0}, "2.11.0")


def test_what_is_stored_is_read_back(tmp_path):
    path = store(MEASURED, tmp_path)

    assert path.name == "nvidia-h200-140gib-132.json"
    assert load_all(tmp_path) == (MEASURED,)
    assert [each.name for each in path.parent.iterdir()] == [path.name]


def test_a_newer_measurement_replaces_the_older(tmp_path):
    store(MEASURED, tmp_path)
    store(MeasuredCeilings(H200, 4300.0, {}, "2.13.0"), tmp_path)

    assert [each.memory_gbs for each in load_all(tmp_path)] == [4300]


def test_nothing_of_the_machine_is_kept(tmp_path):
    text = store(MEASURED, tmp_path).read_text("utf-8")

    assert set(json.loads(text)) == {"key", "memory_gbs", "peak_tflops", "torch", "schema_version"}
    assert set(json.loads(text)["key"]) == {"name", "memory_gib", "multiprocessors"}


@pytest.mark.parametrize(
    "content", [b"", b"{", b'{"key": 1}', b"\xff\xfe", b'{"schema_version": 1}'], ids=repr
)
def test_files_that_hold_something_else_are_passed_over(tmp_path, content):
    path = store(MEASURED, tmp_path)
    path.with_name("other.json").write_bytes(content)

    assert load_all(tmp_path) == (MEASURED,)


def test_another_version_of_the_file_is_passed_over(tmp_path):
    path = store(MEASURED, tmp_path)
    path.write_text(json.dumps({**json.loads(path.read_text()), "schema_version": 2}))

    assert load_all(tmp_path) == ()


def test_no_folder_holds_nothing(tmp_path):
    assert load_all(tmp_path / "nowhere") == ()
    assert load_all(None) == ()


@pytest.mark.parametrize(
    ("device", "found"),
    [
        (Device(0, "NVIDIA H200", 150109880320, 132), True),
        (Device(0, "NVIDIA H200"), True),  # sizes that were not recorded agree with any
        (Device(0, "NVIDIA H200", 75 << 30, 60), False),  # a slice
        (Device(0, "NVIDIA H100", 150109880320, 132), False),
        (Device(0, ""), False),
    ],
)
def test_only_ceilings_of_the_same_kind_of_device_count(device, found):
    assert (measured_for(device, [MEASURED]) is not None) is found


def test_as_ceilings():
    ceilings = MEASURED.ceilings

    assert (ceilings.source, ceilings.name, ceilings.memory_gbs) == (
        "measured",
        "NVIDIA H200",
        4220,
    )
    assert ceilings.tflops("bfloat16") == 759
    assert ceilings.document == "measured by boundby device with torch 2.11.0"


def test_the_cache_folder_follows_the_desktop_standard(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))

    assert cache_folder({"XDG_CACHE_HOME": "/elsewhere"}) == Path("/elsewhere/boundby")
    assert cache_folder({}) == tmp_path / ".cache" / "boundby"
    assert cache_folder({"XDG_CACHE_HOME": "relative"}) == tmp_path / ".cache" / "boundby"


def test_without_a_home_folder_there_is_no_cache(monkeypatch):
    def no_home():
        raise RuntimeError

    monkeypatch.setattr(Path, "home", no_home)

    assert cache_folder({}) is None


def test_names_of_devices_make_file_names():
    assert device_key("", 0, 0).file_name == "device-0gib-0.json"
    assert device_key("A/B ../c", 0, 7).file_name == "a-b-c-0gib-7.json"
