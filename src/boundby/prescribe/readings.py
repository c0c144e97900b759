"""Questions that many rules ask of a case."""

from __future__ import annotations

from collections.abc import Sequence

from boundby.evidence.facts import Place
from boundby.evidence.tables import SyncRow
from boundby.prescribe.case import Case
from boundby.replay.values import Part
from boundby.verdict.classes import device_share

NOTICEABLE = 0.05
"""Shares below a twentieth do not call for a change: no change removes all of a share."""
PAYS = 0.02
"""A change that gains less than this share of the step does not pay now (as in the ladder)."""
SATURATED = 0.90
"""Device share from which the host is not the limit (the method's stop rule)."""
MOSTLY = 0.5
PLACES_NAMED = 2
COMPUTING: tuple[Part, ...] = ("device-compute", "device-memory")


def share(case: Case, *parts: Part) -> float:
    """Share of the step that these parts take together."""
    return sum(case.shares.get(part, 0.0) for part in parts)


def millis(case: Case, *parts: Part) -> float:
    """Milliseconds of the step that these parts take together."""
    return share(case, *parts) * case.step.estimate


def of_device(case: Case, part: float | None) -> float | None:
    """A share of device time as a share of the step; None where it is unknown."""
    return None if part is None else part * device_share(case.shares)


def is_host_bound(case: Case) -> bool:
    """Whether submitting or interpreting sets the step time."""
    return case.verdict.name in ("launch-bound", "python-bound")


def is_device_bound(case: Case) -> bool:
    """Whether what the device computes sets the step time."""
    return case.verdict.name in ("memory-bound", "compute-bound")


def device_leads(case: Case) -> bool:
    """Whether computing takes most of the step, even where the host names its class."""
    return is_device_bound(case) or share(case, *COMPUTING) >= MOSTLY


def is_saturated(case: Case) -> bool:
    """Whether the device works during (nearly) all of the step."""
    return device_share(case.shares) >= SATURATED


def over(value: float | None, limit: float) -> bool:
    """Whether a value is known and at least the limit."""
    return value is not None and value >= limit


def gain(case: Case, edit: str) -> float | None:
    """Share of the step that an edit saves for the same amount of work; None if not replayed."""
    asked = case.what_if.get(edit)
    if asked is None or asked.speedup <= 0:
        return None
    return 1.0 - 1.0 / asked.speedup


def waits(case: Case, kind: str) -> SyncRow | None:
    """The waits of one kind; None where there are none."""
    return next((row for row in case.syncs if row.kind == kind and row.count_per_step > 0), None)


def at(places: Sequence[Place]) -> str:
    """`` (train.py:42, model.py:7)``; empty where no place is known."""
    named = [f"{place.file}:{place.line}" for place in places[:PLACES_NAMED]]
    return f" ({', '.join(named)})" if named else ""
