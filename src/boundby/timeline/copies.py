"""Copies by direction and host memory, which Kineto tells in the name alone."""

from __future__ import annotations

import re
from enum import IntEnum

import numpy as np
import numpy.typing as npt

from boundby.distribution import distinct

_TO_DEVICE = re.compile(
    r"HtoD|HostToDevice|H2D|Host *-> *Device|(Pageable|Pinned) *-> *Device", re.IGNORECASE
)
_TO_HOST = re.compile(r"DtoH|DeviceToHost|D2H|Device *-> *(Host|Pageable|Pinned)", re.IGNORECASE)


class CopyKind(IntEnum):
    """Direction of a copy, and whether the host side is pinned."""

    ON_DEVICE = 0
    """Device to device, peer, array, or unknown: never involves the host."""
    TO_DEVICE = 1
    """Host to device from pageable memory, or memory of unknown kind."""
    TO_DEVICE_PINNED = 2
    TO_HOST = 3
    """Device to host into pageable memory, or memory of unknown kind."""
    TO_HOST_PINNED = 4


MAY_BLOCK = (CopyKind.TO_DEVICE, CopyKind.TO_HOST)
"""Copies through pageable memory: the call may stage, and wait."""
HOST_COPIES = (
    CopyKind.TO_DEVICE,
    CopyKind.TO_DEVICE_PINNED,
    CopyKind.TO_HOST,
    CopyKind.TO_HOST_PINNED,
)


def classify_copy(name: str) -> CopyKind:
    """The kind of one copy by its name (``Memcpy HtoD (Pageable -> Device)``)."""
    pinned = "pinned" in name.lower()
    if _TO_DEVICE.search(name):
        return CopyKind.TO_DEVICE_PINNED if pinned else CopyKind.TO_DEVICE
    if _TO_HOST.search(name):
        return CopyKind.TO_HOST_PINNED if pinned else CopyKind.TO_HOST
    return CopyKind.ON_DEVICE


def classify_copies(names: list[str], column: npt.NDArray[np.int32]) -> npt.NDArray[np.int8]:
    """int8[len(column)]: CopyKind of each row by its name."""
    kinds = np.zeros(max(len(names), 1), dtype=np.int8)
    for index in distinct(column):
        kinds[index] = classify_copy(names[index])
    return kinds[column]
