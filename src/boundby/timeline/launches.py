"""Launches: host calls that enqueued device work, joined to it by correlation, never by time."""

from __future__ import annotations

import numpy as np

from boundby.distribution import distinct
from boundby.frozen import frozen
from boundby.intervals import Ints
from boundby.read.recording import NONE, HostKind, Recording


@frozen
class Launches:
    """One row a launch, ordered by its host start.

    Attributes:
        row: int64[n] index into ``Recording.host``.
        start, end: int64[n] ns of the call.
        thread: int64[n] index into ``Recording.threads``.
        first_row: int64[n] device row that started first.
        of_row: int64[len(device)] launch index of each device row, NONE without a launch.
    """

    row: Ints
    start: Ints
    end: Ints
    thread: Ints
    first_row: Ints
    of_row: Ints

    def __len__(self) -> int:
        return len(self.row)


def join_launches(recording: Recording, device: int) -> Launches:
    """All calls whose correlation is carried by work of one device."""
    host, work = recording.host, recording.device
    calls = np.flatnonzero((host.kind == HostKind.CALL) & (host.correlation != NONE))
    by_correlation = calls[np.argsort(host.correlation[calls], kind="stable")]
    keys = host.correlation[by_correlation]
    position = np.searchsorted(keys, work.correlation)
    position = np.minimum(position, max(len(keys) - 1, 0))
    matched = (work.device == device) & (work.correlation != NONE)
    if len(keys):
        matched &= keys[position] == work.correlation
    else:
        matched &= False
    host_row = np.full(len(work), NONE, dtype=np.int64)
    host_row[matched] = by_correlation[position[matched]]
    return _number_launches(recording, host_row)


def _number_launches(recording: Recording, host_row: Ints) -> Launches:
    host = recording.host
    rows = distinct(host_row[host_row != NONE])
    of_row = np.full(len(host_row), NONE, dtype=np.int64)
    matched = host_row != NONE
    of_row[matched] = np.searchsorted(rows, host_row[matched])
    first = np.full(len(rows), NONE, dtype=np.int64)
    backwards = np.flatnonzero(matched)[::-1]
    first[of_row[backwards]] = backwards
    return Launches(
        row=rows,
        start=host.start[rows],
        end=host.end[rows],
        thread=host.thread[rows].astype(np.int64),
        first_row=first,
        of_row=of_row,
    )
