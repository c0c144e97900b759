"""From the parts of a step to the class that bounds it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from boundby.replay.values import Part, WaterfallPart
from boundby.verdict.decision import BoundClass, RunnerUp

DEVICE_BOUND = 0.90
"""Device share of the clean step from which the device names the class. Between 0.80 and 0.90 the
choice changes no verdict on 56 recordings of known cause; 0.95 is worse."""

HOST_CLASS: dict[Part, BoundClass] = {
    "data": "sync-bound",
    "sync": "sync-bound",
    "python": "python-bound",
    "submission": "launch-bound",
}
DEVICE_CLASS: dict[Part, BoundClass] = {
    "device-compute": "compute-bound",
    "device-memory": "memory-bound",
    "device-other": "memory-bound",
    "device-copy": "sync-bound",
    "device-communication": "communication-bound",
}
DEFAULT_CAUSE: dict[Part, str] = {"data": "data-loading", "device-copy": "host-copy"}


def shares_of(parts: Sequence[WaterfallPart]) -> dict[Part, float]:
    """Share of each part."""
    return {p.part: p.share for p in parts}


def device_share(shares: Mapping[Part, float]) -> float:
    """Share of the step that the device needs."""
    return sum(shares.get(part, 0.0) for part in DEVICE_CLASS)


def leading_part(shares: Mapping[Part, float]) -> Part:
    """The part that names the class: of the device from 90% on, else the largest of the host.

    Exposed communication is time that other ranks decide: it leads wherever it is the largest
    part of the whole step.
    """
    if shares and max(shares, key=lambda part: shares[part]) == "device-communication":
        return "device-communication"
    kinds = DEVICE_CLASS if device_share(shares) >= DEVICE_BOUND else HOST_CLASS
    return max(kinds, key=lambda part: _weight(shares, part))


def _weight(shares: Mapping[Part, float], part: Part) -> float:
    """``device-other`` never leads: what it is, is unknown."""
    return -1.0 if part == "device-other" else shares.get(part, 0.0)


def class_of(part: Part) -> BoundClass:
    """The class a part names."""
    return HOST_CLASS.get(part) or DEVICE_CLASS[part]


def runner_up(shares: Mapping[Part, float], lead: Part) -> RunnerUp | None:
    """The class of the largest part of known kind that would name another one."""
    ranked = sorted(shares, key=lambda part: _weight(shares, part), reverse=True)
    for part in ranked:
        if part == "device-other":
            continue
        if class_of(part) != class_of(lead) and shares[part] > 0:
            return RunnerUp(class_of(part), shares[part])
    return None
