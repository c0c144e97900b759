"""Which track of a trace each row stands on, so that a viewer draws all of them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from boundby.frozen import frozen
from boundby.intervals import Ints

FIRST_TRACK = 11
"""Viewers take track 0 for none given, and the number of a process for its main thread."""
MAIN = "main thread"


@frozen
class Tracks:
    """Rows laid out so that those of one track nest or follow each other.

    Attributes:
        of_row: Number of the track of each row.
        names: Name of each track by its number, in the order in which they are shown.
    """

    of_row: list[int]
    names: dict[int, str]


def lay_out(span: tuple[Ints, Ints], line: Ints, name: Callable[[int], str]) -> Tracks:
    """Tracks for the rows of some threads or streams, the main thread first.

    A viewer drops a row that begins inside another and ends after it, as kernels of one stream do
    where the next may start early: such rows get a track of their own.

    Args:
        span: Start and duration of each row, ns.
        line: Thread or stream of each row.
        name: What a thread or stream is called.
    """
    start, dur = span
    open_: dict[int, list[list[int]]] = {}
    keys = [(0, 0)] * len(start)
    for at in np.lexsort((-dur, start)).tolist():
        on, begin = int(line[at]), int(start[at])
        keys[at] = (on, _room(open_.setdefault(on, []), begin, begin + int(dur[at])))
    ordered = sorted(set(keys), key=lambda key: (name(key[0]) != MAIN, key))
    number = {key: at for at, key in enumerate(ordered, FIRST_TRACK)}
    names = {
        at: f"{name(on)}{', overlapping' if beside else ''}" for (on, beside), at in number.items()
    }
    return Tracks([number[key] for key in keys], names)


def _room(tracks: list[list[int]], begin: int, end: int) -> int:
    """The first track whose open rows are over, or last until the end."""
    for number, ends in enumerate(tracks):
        while ends and ends[-1] <= begin:
            ends.pop()
        if not ends or end <= ends[-1]:
            ends.append(end)
            return number
    tracks.append([end])
    return len(tracks) - 1
