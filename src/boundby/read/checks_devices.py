"""Several devices in one recording: one is reported, and what the others did may hold it up."""

from __future__ import annotations

import numpy as np

from boundby.distribution import distinct
from boundby.read.facts import Facts
from boundby.read.recording import NONE, Ints, Quality

OTHER_DEVICES = "other-devices"
RELEVANT_SHARE = 0.2
"""Share of all device time that other devices take, fed by the same threads, from which figures
of one device cannot speak for the step: as much as a host part needs for a strong verdict."""


def find_other_devices(facts: Facts, asked: int | None = None) -> Quality | None:
    """Devices beside the one that figures are of: the busiest, or that asked for."""
    work = facts.recording.device
    ids, which = np.unique(work.device, return_inverse=True)
    if len(ids) <= 1:
        return None
    times = np.bincount(which, weights=work.dur)
    total = max(float(times.sum()), 1.0)
    shown = int(np.argmax(times) if asked is None else np.searchsorted(ids, asked))
    woven = _fed_together(facts, which == shown)
    is_grave = float(work.dur[woven].sum()) >= RELEVANT_SHARE * total
    advice = (
        " The same thread feeds them between the same launches, so they may wait for each other: "
        "record and diagnose one device a process."
    )
    chosen = "the busiest" if asked is None else "as asked"
    return Quality(
        OTHER_DEVICES,
        "warning" if is_grave else "info",
        len(ids) - 1,
        f"{len(ids)} devices did work; device {int(ids[shown])}, {chosen}, is reported: its "
        f"share is {times[shown] / total:.0%} of the device time. --device takes one of "
        f"{', '.join(map(str, ids.tolist()))}.{advice if is_grave else ''}",
    )


def _fed_together(facts: Facts, shown: Ints) -> Ints:
    """Rows of other devices launched by a thread between its launches for the shown device."""
    host = facts.recording.host
    launched = facts.call_of != NONE
    call = np.maximum(facts.call_of, 0)
    if not launched.any():
        return np.zeros(0, dtype=np.int64)
    found = []
    for thread in distinct(host.thread[call[launched & shown]]).tolist():
        mine = launched & (host.thread[call] == thread)
        own = host.start[call[mine & shown]]
        at = host.start[call]
        found.append(np.flatnonzero(mine & ~shown & (at >= own.min()) & (at <= own.max())))
    return np.concatenate(found) if found else np.zeros(0, dtype=np.int64)
