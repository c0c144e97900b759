"""The device table: vendor peaks by the name a recording gives, and never those of another device.

Figures and their documents are in ``data/devices.json``; all are dense rates.
"""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path

import msgspec

from boundby.frozen import frozen
from boundby.roofline.ceilings import Ceilings

TABLE_FILE = Path(__file__).parent.parent / "data" / "devices.json"

MEMORY_TOLERANCE = 0.12
"""A device reports up to this share less memory than its sheet (a T4: 14.6 of 16 GiB)."""
SLICE_BELOW = 0.9
"""With fewer multiprocessors than this share of the table's, a device is a slice of itself."""

GIB = 2**30


class DeviceEntry(msgspec.Struct, frozen=True):
    """One row of the table.

    Attributes:
        name: Short name.
        match: Patterns of names that mean this device alone.
        broad: Pattern of names it shares with others, told apart by memory size; None for none.
        multiprocessors: SMs or CUs of the whole device.
        peak_tflops: Dense TFLOP/s by element type.
        memory_gbs: GB/s.
        memory_gib: Sizes it is sold with, GiB.
        cache_mib: Last cache before memory, MiB.
        flops_per_special: float32 FLOPs in the time of one special-function evaluation.
        document: Source.
        status: How far the figures were checked.
        note: What differs between sources.
    """

    name: str
    match: list[str]
    broad: str | None
    multiprocessors: int
    peak_tflops: dict[str, float]
    memory_gbs: float
    memory_gib: list[float]
    cache_mib: float
    flops_per_special: int | None
    document: str
    status: str
    note: str


class _Table(msgspec.Struct, frozen=True):
    about: str
    devices: list[DeviceEntry]


@frozen
class DeviceMatch:
    """What the table says about a device.

    Attributes:
        ceilings: Its peaks; None where the device is not known.
        reason: Why not, or how the entry was found, for the reader.
    """

    ceilings: Ceilings | None
    reason: str


@lru_cache(maxsize=1)
def device_table() -> tuple[DeviceEntry, ...]:
    """Every entry, as shipped."""
    return tuple(msgspec.json.decode(TABLE_FILE.read_bytes(), type=_Table).devices)


def match_device(name: str, memory_bytes: int = 0, multiprocessors: int = 0) -> DeviceMatch:
    """Find a device in the table.

    Args:
        name: As recorded (``NVIDIA H200``, ``Tesla T4``).
        memory_bytes: As recorded, to tell sizes of one name apart; 0 where unknown.
        multiprocessors: As recorded, to recognise a slice; 0 where unknown.
    """
    if not name.strip():
        return DeviceMatch(None, "the recording does not name its device")
    found = [e for e in device_table() if any(re.search(p, name) for p in e.match)]
    if not found:
        found = [e for e in device_table() if e.broad and re.search(e.broad, name)]
        found = [e for e in found if _has_size(e, memory_bytes)]
    if not found:
        return DeviceMatch(None, f"{name} is not in the device table")
    if len(found) > 1:
        found = _nearest(found, memory_bytes)
    if len({(e.memory_gbs, tuple(e.peak_tflops.items())) for e in found}) > 1:
        names = " or ".join(e.name for e in found)
        return DeviceMatch(None, f"{name} may be {names}: their peaks differ")
    if re.search(r"\bMIG\b", name) and not multiprocessors:
        return DeviceMatch(None, f"{name} is a slice of unknown size")
    entry = found[0]
    return DeviceMatch(_ceilings(entry, name, memory_bytes, multiprocessors), entry.document)


def _size_gap(entry: DeviceEntry, memory_bytes: int) -> float:
    """Relative distance of the memory size to the nearest one of the entry."""
    return min(abs(memory_bytes / GIB - size) / size for size in entry.memory_gib)


def _has_size(entry: DeviceEntry, memory_bytes: int) -> bool:
    return not memory_bytes or _size_gap(entry, memory_bytes) <= MEMORY_TOLERANCE


def _nearest(entries: list[DeviceEntry], memory_bytes: int) -> list[DeviceEntry]:
    if not memory_bytes:
        return entries
    gaps = [_size_gap(entry, memory_bytes) for entry in entries]
    return [entry for entry, gap in zip(entries, gaps, strict=True) if gap == min(gaps)]


def _ceilings(entry: DeviceEntry, name: str, memory_bytes: int, multiprocessors: int) -> Ceilings:
    """The entry's peaks, scaled where the device is a slice (MIG) of the one in the table.

    Compute goes with the multiprocessors. Memory slices are equal parts with their own channels
    (NVIDIA MIG user guide), so bandwidth goes with the memory size, where that is known.
    """
    multiprocessors = max(multiprocessors, 0)
    part = multiprocessors / entry.multiprocessors if multiprocessors else 1.0
    is_slice = part < SLICE_BELOW
    share, memory = (part, part) if is_slice else (1.0, 1.0)
    if is_slice and memory_bytes:
        memory = min(1.0, memory_bytes / GIB / max(entry.memory_gib))
    note = entry.note
    if is_slice:
        note = (
            f"{name} has {multiprocessors} of {entry.multiprocessors} multiprocessors: "
            f"FLOP rates times {share:.2f}, bandwidth times {memory:.2f}"
        )
    vector = entry.peak_tflops.get("float32")
    special = None
    if vector and entry.flops_per_special:
        special = vector * share * 1e3 / entry.flops_per_special
    return Ceilings(
        name=entry.name,
        source="datasheet",
        document=entry.document,
        memory_gbs=entry.memory_gbs * memory,
        peak_tflops={key: rate * share for key, rate in entry.peak_tflops.items()},
        special_gops=special,
        cache_mib=entry.cache_mib * memory,
        multiprocessors=multiprocessors or entry.multiprocessors,
        note=note,
    )
