"""Device busy and idle time with exclusive owners, over all streams of one device."""

from __future__ import annotations

import re

import numpy as np
import numpy.typing as npt

from boundby.distribution import distinct
from boundby.frozen import frozen
from boundby.intervals import Intervals, Ints, merge, union
from boundby.read.recording import DeviceKind, Recording
from boundby.timeline.summary import OwnerShares

COMMUNICATION = re.compile(
    r"nccl|rccl|msccl|AllReduce|all_reduce|AllGather|allgather|ReduceScatter|reduce_scatter"
    r"|AllToAll|SendRecv|cross_device_reduce|one_?shot|two_?shot.*reduce|nvshmem|multimem",
    re.IGNORECASE,
)
"""Kernel names of collectives, with and without ``nccl`` in them."""

OWNERS = ("compute", "communication", "copy", "memset")


@frozen
class Busy:
    """Union of device work by owner; entry k of ``covered`` covers owners 0..k.

    An instant belongs to the first owner, in the order of OWNERS, that is active on any stream.
    """

    covered: tuple[Intervals, ...]

    @property
    def all(self) -> Intervals:
        """Busy time whoever owns it."""
        return self.covered[-1]

    def shares(self, start: int, end: int) -> OwnerShares | None:
        """Shares of one window; None for an empty window."""
        if end <= start:
            return None
        window = np.array([start]), np.array([end])
        upto = [int(c.within(*window)[0]) for c in self.covered]
        exclusive = np.diff(upto, prepend=0) / (end - start)
        compute, communication, copy, memset = exclusive.tolist()
        idle = 1.0 - float(exclusive.sum())
        return OwnerShares(compute, communication, copy, memset, idle)


def is_communication(names: list[str], column: npt.NDArray[np.int32]) -> npt.NDArray[np.bool_]:
    """bool[len(column)]: which rows are collectives by name."""
    flags = np.zeros(max(len(names), 1), dtype=bool)
    for index in distinct(column):
        flags[index] = bool(COMMUNICATION.search(names[index]))
    return flags[column]


def owners_of(recording: Recording) -> Ints:
    """int64[len(device)]: index into OWNERS of each device row."""
    kind = recording.device.kind
    owner = np.select([kind == DeviceKind.COPY, kind == DeviceKind.MEMSET], [2, 3], default=0)
    communicates = is_communication(recording.names, recording.device.name)
    return np.where((owner == 0) & communicates, 1, owner).astype(np.int64)


def build_busy(recording: Recording, rows: Ints) -> Busy:
    """Busy time of the given device rows."""
    work, owner = recording.device, owners_of(recording)[rows]
    start, end = work.start[rows], work.end[rows]
    covered: list[Intervals] = []
    for index in range(len(OWNERS)):
        own = union(start[owner == index], end[owner == index])
        covered.append(merge(covered[-1], own) if covered else own)
    return Busy(tuple(covered))
