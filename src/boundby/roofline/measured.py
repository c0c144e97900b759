"""Ceilings measured on a device: stored in the user's cache folder, read back beside the table.

A file a kind of device. What tells kinds apart is what a recording says too: name, memory size
and multiprocessors. No serial number, host name or user is kept.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from boundby.read.recording import Device
from boundby.roofline.ceilings import Ceilings
from boundby.roofline.devices import GIB

SCHEMA_VERSION = 1
FOLDER = "ceilings"


class DeviceKey(msgspec.Struct, frozen=True):
    """What tells one kind of device from another.

    Attributes:
        name: As the driver gives it.
        memory_gib: Whole GiB; 0 where unknown.
        multiprocessors: 0 where unknown.
    """

    name: str
    memory_gib: int
    multiprocessors: int

    @property
    def file_name(self) -> str:
        """A name for its file: ``nvidia-h200-140gib-132.json``."""
        slug = re.sub(r"[^a-z0-9]+", "-", self.name.lower()).strip("-") or "device"
        return f"{slug}-{self.memory_gib}gib-{self.multiprocessors}.json"

    def fits(self, other: DeviceKey) -> bool:
        """Whether two keys may be of one kind: what is unknown agrees with anything."""
        return self.name == other.name and all(
            not mine or not theirs or mine == theirs
            for mine, theirs in (
                (self.memory_gib, other.memory_gib),
                (self.multiprocessors, other.multiprocessors),
            )
        )


class MeasuredCeilings(msgspec.Struct, frozen=True):
    """What a kind of device reaches.

    Attributes:
        key: Which kind.
        memory_gbs: GB/s of a copy within device memory, read and write counted.
        peak_tflops: TFLOP/s of large matrix products by element type.
        torch: Version that measured.
    """

    key: DeviceKey
    memory_gbs: float
    peak_tflops: Mapping[str, float]
    torch: str = ""
    schema_version: int = SCHEMA_VERSION

    @property
    def ceilings(self) -> Ceilings:
        """The same as ceilings."""
        return Ceilings(
            name=self.key.name,
            source="measured",
            document=f"measured by boundby device with torch {self.torch}",
            memory_gbs=self.memory_gbs,
            peak_tflops=dict(self.peak_tflops),
            multiprocessors=self.key.multiprocessors,
        )


def device_key(name: str, memory_bytes: int, multiprocessors: int) -> DeviceKey:
    """The key of a device."""
    return DeviceKey(name, round(memory_bytes / GIB), multiprocessors)


def measured_for(device: Device, stored: Sequence[MeasuredCeilings]) -> Ceilings | None:
    """The ceilings of its kind among those stored; None where there are none."""
    key = device_key(device.name, device.memory_bytes, device.multiprocessors)
    if not device.name:
        return None
    return next((each.ceilings for each in stored if key.fits(each.key)), None)


def cache_folder(environment: Mapping[str, str] = os.environ) -> Path | None:
    """``$XDG_CACHE_HOME/boundby``, or ``~/.cache/boundby``; None where there is no home folder.

    A relative path is to be ignored (XDG Base Directory Specification).
    """
    base = Path(environment.get("XDG_CACHE_HOME", ""))
    if base.is_absolute():
        return base / "boundby"
    try:
        return Path.home() / ".cache" / "boundby"
    except RuntimeError:
        return None


def store(measured: MeasuredCeilings, folder: Path) -> Path:
    """Write the ceilings of a kind of device in place of older ones; returns the file.

    Raises:
        OSError: The folder cannot be written.
    """
    path = folder / FOLDER / measured.key.file_name
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(".part")
    part.write_bytes(msgspec.json.format(msgspec.json.encode(measured), indent=1) + b"\n")
    part.replace(path)
    return path


def load_all(folder: Path | None) -> tuple[MeasuredCeilings, ...]:
    """Everything stored; files that are none, or of another version, are passed over."""
    found = []
    for path in _stored(folder / FOLDER) if folder else ():
        try:
            each = msgspec.json.decode(path.read_bytes(), type=MeasuredCeilings)
        except (OSError, msgspec.DecodeError):
            continue
        if each.schema_version == SCHEMA_VERSION:
            found.append(each)
    return tuple(found)


def _stored(folder: Path) -> list[Path]:
    """The files of a folder; none where it may not be entered or its name is no path."""
    try:
        return sorted(path for path in folder.iterdir() if path.suffix == ".json")
    except OSError:
        return []
