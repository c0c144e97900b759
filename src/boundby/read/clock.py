"""Times that no clock can have shown: rows recorded with a wrong clock are found and left out."""

from __future__ import annotations

import numpy as np

from boundby.frozen import frozen
from boundby.read.columns import Array, Table, length, take
from boundby.read.recording import Ints
from boundby.units import NS_PER_S

SLACK_NS = 10 * NS_PER_S
"""A device may still work this long after the host stopped (about 1000 kernels of 10 ms queued)."""
FAR_NS = 3600 * NS_PER_S
"""Without host rows only a distance no recording has is called far."""


@frozen
class Misdated:
    """Rows left out because of their time.

    Attributes:
        host, device, python: Rows far from the rest of the recording, those at 0 included.
        at_zero: How many of them were recorded at exactly 0.
    """

    host: int = 0
    device: int = 0
    python: int = 0
    at_zero: int = 0

    @property
    def total(self) -> int:
        """All rows left out but waits."""
        return self.host + self.device + self.python


def _far(start: Ints, low: int, high: int) -> Array:
    return (start < low) | (start > high)


def _middle(start: Ints) -> int:
    """The median as one of the times: a mean of two could be near none of them."""
    half = len(start) // 2
    return int(np.partition(start, half)[half])


def _window(host: Table, device: Table) -> tuple[int, int] | None:
    if length(host):
        start = host["start"]
        middle = _middle(start)
        near = np.abs(start - middle) <= FAR_NS
        low, high = int(start[near].min()), int((start + host["dur"])[near].max())
        slack = max(SLACK_NS, high - low)
        return low - slack, high + slack
    if length(device):
        middle = _middle(device["start"])
        return middle - FAR_NS, middle + FAR_NS
    return None


def drop_misdated(host: Table, device: Table, python: Table, waits: Table) -> Misdated:
    """Remove rows far outside the host's window (in place) and say how many there were."""
    window = _window(host, device)
    if window is None:
        return Misdated()
    counts: list[int] = []
    at_zero = 0
    for table in (host, device, python, waits):
        far = _far(table["start"], *window)
        counts.append(int(far.sum()))
        if counts[-1]:
            at_zero += int((table["start"][far] == 0).sum())
            take(table, ~far)
    return Misdated(counts[0], counts[1], counts[2], at_zero)


def drop_overlong(host: Table, device: Table) -> int:
    """Remove device rows longer than everything recorded (in place) and say how many there were.

    Only where the next row of the same stream starts meanwhile, which a true duration forbids:
    a recording of one long kernel is lawful.
    """
    if length(device) <= 1:
        return 0
    start, dur = device["start"], device["dur"]
    low, high = int(start.min()), int(start.max())
    if length(host):
        low = min(low, int(host["start"].min()))
        high = max(high, int((host["start"] + host["dur"]).max()))
    overlong = dur > high - low
    if not overlong.any():
        return 0
    order = np.lexsort((device["correlation"], -dur, start, device["stream"], device["device"]))
    same = np.ones(len(order) - 1, dtype=bool)
    for name in ("stream", "device"):
        same &= device[name][order][1:] == device[name][order][:-1]
    overrun = np.zeros(len(order), dtype=bool)
    overrun[order[:-1]] = same & ((start + dur)[order][:-1] > start[order][1:])
    overlong &= overrun
    take(device, ~overlong)
    return int(overlong.sum())
