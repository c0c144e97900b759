"""What a runtime or driver call does, by its name.

Names only classify waits, allocations and copies. Whether a call is a *launch* is decided by
correlation (``launches.py``): any call whose correlation a device row carries is one.
CUDA, HIP and driver spellings are folded: ``hipStreamSynchronize`` and ``cuStreamSynchronize``
are ``StreamSynchronize``.
"""

from __future__ import annotations

import re
from enum import IntEnum

import numpy as np
import numpy.typing as npt

from boundby.distribution import distinct

_PREFIX = re.compile(r"^_*(cuda|hip|cu|musa|xpu|ze)(?=[A-Z])")
_SUFFIX = re.compile(r"(_v\d+|_ptsz|_ptds|_spt)+$")


class CallKind(IntEnum):
    """What a call does to the host line."""

    OTHER = 0
    """Attribute queries, capture checks, event records: part of the operator around it."""
    LAUNCH = 1
    """Enqueues kernels by its name; only correlation proves that it did."""
    GRAPH_LAUNCH = 2
    COPY = 3
    """Copies and memsets in stream order."""
    BLOCKING_COPY = 4
    """``cudaMemcpy``: waits by definition."""
    DEVICE_SYNC = 5
    STREAM_SYNC = 6
    EVENT_SYNC = 7
    ALLOCATOR = 8
    """Asks the driver for memory or gives it back; may wait for the device."""
    STREAM_WAIT = 9
    """Makes one stream wait for an event of another; the host does not wait."""
    EVENT_QUERY = 10
    """Polling: a spin, not a wait."""


SYNC_KINDS = (CallKind.DEVICE_SYNC, CallKind.STREAM_SYNC, CallKind.EVENT_SYNC)

_EXACT = {
    "DeviceSynchronize": CallKind.DEVICE_SYNC,
    "CtxSynchronize": CallKind.DEVICE_SYNC,
    "ThreadSynchronize": CallKind.DEVICE_SYNC,
    "StreamSynchronize": CallKind.STREAM_SYNC,
    "EventSynchronize": CallKind.EVENT_SYNC,
    "StreamWaitEvent": CallKind.STREAM_WAIT,
    "EventQuery": CallKind.EVENT_QUERY,
    "StreamQuery": CallKind.EVENT_QUERY,
    "Memcpy": CallKind.BLOCKING_COPY,
    "MemcpyPeer": CallKind.BLOCKING_COPY,
    "Memcpy2D": CallKind.BLOCKING_COPY,
    "Memcpy3D": CallKind.BLOCKING_COPY,
    "MemcpyToSymbol": CallKind.BLOCKING_COPY,
    "MemcpyFromSymbol": CallKind.BLOCKING_COPY,
    "MemcpyDtoH": CallKind.BLOCKING_COPY,
    "MemcpyHtoD": CallKind.BLOCKING_COPY,
    "MemcpyDtoD": CallKind.BLOCKING_COPY,
    "MemcpyWithStream": CallKind.BLOCKING_COPY,
    "GraphLaunch": CallKind.GRAPH_LAUNCH,
}
_ALLOCATOR = re.compile(
    r"^(Malloc|Free|HostAlloc|HostMalloc|HostFree|MallocHost|FreeHost|MallocAsync|FreeAsync"
    r"|MallocManaged|MallocPitch|MemAlloc\w*|MemFree\w*|MemCreate|MemRelease|MemMap|MemUnmap"
    r"|MemSetAccess|MemAddress\w+|HostRegister|HostUnregister|ExtMallocWithFlags)$"
)


def classify(name: str) -> CallKind:
    """The kind of one call name."""
    stem = _SUFFIX.sub("", _PREFIX.sub("", name))
    if stem in _EXACT:
        return _EXACT[stem]
    if _ALLOCATOR.match(stem):
        return CallKind.ALLOCATOR
    if stem.startswith(("Memcpy", "Memset")):
        return CallKind.COPY
    if "Launch" in stem and "Callback" not in stem and "HostFunc" not in stem:
        return CallKind.LAUNCH
    return CallKind.OTHER


def classify_names(names: list[str], used: npt.NDArray[np.int32]) -> npt.NDArray[np.int8]:
    """int8[len(names)]: the CallKind of each name that occurs in ``used``; OTHER elsewhere."""
    kinds = np.zeros(len(names), dtype=np.int8)
    for index in distinct(used):
        kinds[index] = classify(names[index])
    return kinds
