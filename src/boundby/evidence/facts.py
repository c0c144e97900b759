"""A measured fact: value, unit, place, and how far to trust it."""

from __future__ import annotations

from typing import Literal

from boundby.frozen import frozen

Trust = Literal["measured", "derived", "estimated"]


@frozen
class Place:
    """A place in the user's code.

    Attributes:
        line: Line number; of the definition when ``exact`` is False, of the call when True.
    """

    file: str
    line: int
    function: str
    exact: bool


@frozen
class Evidence:
    """One fact.

    Attributes:
        id: Stable name; ``boundby explain ID`` explains it.
        value: The number, or None where unknown.
        unit: ``ms``, ``us``, ``share``, ``count``, ``GB/s`` ...
        text: One plain sentence with the value in it.
        trust: measured (read off the recording), derived (arithmetic on measured values),
            estimated (depends on a model, e.g. the probe cost).
        where: Places in the user's code.
    """

    id: str
    value: float | None
    unit: str
    text: str
    trust: Trust
    where: tuple[Place, ...] = ()
