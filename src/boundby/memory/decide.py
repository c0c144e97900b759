"""The decision: an out-of-memory entry is judged at its moment, without one the whole history."""

from __future__ import annotations

from collections.abc import Callable

from boundby.memory.case import Case
from boundby.memory.facts import GIB, MIB
from boundby.memory.history import History
from boundby.memory.verdicts import Strength, Verdict, undecided
from boundby.read.snapshot_types import Action

FULL_SHARE = 0.9
"""Used of reserved above which an allowance is filled by the program itself."""

LEAK_SHARE = 0.2
"""Of what is in use at a refusal: growth below this is not why it failed."""

OTHERS_SHARE = 0.3
"""Of the device: what others hold, above which they are the reason."""

PEAK_SHARE = 1 / 3
"""Of what is in use at the peak, that comes and goes; a healthy training was measured at 0.21."""

PEAK_BYTES = 1 * GIB
"""A peak below this fits every card sold for training today, unless one tensor makes it."""
TELLING_BYTES = 64 * MIB
NEGLIGIBLE_SHARE = 0.1
"""Of the device: a peak below this is no concern, whatever makes it."""

MOST_BYTES = 1 << 46
"""64 TiB: no device has as much, and no process reserves as much of several."""
SMALLEST_DEVICE = 4 * GIB
LARGEST_DEVICE = 288 * GIB
"""The smallest and the largest device (B300, MI355X) sold for training today. A process that sees
less than the first shares its device; a request above the second fits none."""

FEW_EVENTS = 10
MOST_CONTRADICTIONS = 0.05

Rule = Callable[[Case], Verdict | None]


def decide(case: Case) -> Verdict:
    """The verdict on one device."""
    events = len(case.history.events)
    if case.history.contradictions > MOST_CONTRADICTIONS * max(events, 1):
        return undecided(
            "The history contradicts itself (frees without allocations): it was cut or mixed.",
            ("memory-contradictions",),
        )
    if max(abs(case.peak.live), *_extremes(case.history)) > MOST_BYTES:
        return undecided(
            "It tells of more memory than any device has: its sizes or addresses are wrong.",
            ("memory-peak", "memory-reserved"),
        )
    rules = WITH_REFUSAL if case.refusal else WITHOUT_REFUSAL
    found = (rule(case) for rule in rules)
    return next(verdict for verdict in found if verdict is not None)


def _extremes(history: History) -> tuple[int, ...]:
    curves = history.live_curve, history.reserved_curve
    return tuple(abs(int(end)) for curve in curves for end in (curve.min(), curve.max()))


def _pieces(case: Case) -> Verdict | None:
    """The pool held enough in sum, and no block did."""
    pool = case.fragmentation
    if not pool.refused_by_pieces or not pool.request:
        return None
    excess = pool.state.free / pool.request
    cause = "pinned-segments" if pool.state.pinned >= pool.request else None
    return Verdict(
        "fragmentation",
        cause,
        _graded(excess, 1.5, 1.1),
        ("memory-request", "memory-pool-free", "memory-largest-free", "memory-pinned"),
    )


def _too_large(case: Case) -> Verdict | None:
    """No free memory of the whole device would have been enough."""
    size = case.refusal.size if case.refusal else 0
    facts = ("memory-request", "memory-visible")
    if case.capacity is not None:
        too_large = size > case.capacity
        return Verdict("request-too-large", None, "strong", facts) if too_large else None
    if case.visible is None or size <= case.visible:
        return None
    if case.visible < SMALLEST_DEVICE and size <= LARGEST_DEVICE:
        return Verdict("reserved-elsewhere", "other-process", "weak", facts)
    return Verdict("request-too-large", None, "moderate", facts)


def _elsewhere(case: Case) -> Verdict | None:
    """Memory of the device that this request could not have."""
    size = case.refusal.size if case.refusal else 0
    for pool, cause, fact in (
        (case.private_pools, "private-pool", "memory-private-pools"),
        (case.other_streams, "other-stream", "memory-other-streams"),
    ):
        if size <= pool.free:
            return Verdict("reserved-elsewhere", cause, "moderate", ("memory-request", fact))
    others = case.other_use
    if others is not None and others >= max(size, OTHERS_SHARE * (case.capacity or 0)):
        return Verdict(
            "reserved-elsewhere", "other-process", "strong", ("memory-request", "memory-other-use")
        )
    return None


def _leak_at_refusal(case: Case) -> Verdict | None:
    is_reason = case.growth.total >= LEAK_SHARE * case.peak.live
    return _leak(case) if is_reason else None


def _limit(case: Case) -> Verdict | None:
    """The device had room and the process was not allowed to take it."""
    if not case.had_room:
        return None
    facts = ("memory-request", "memory-live", "memory-device-free", "memory-reserved")
    if case.peak.live >= FULL_SHARE * case.peak.reserved:
        return Verdict("really-full", "limit", "strong", facts)
    return Verdict("reserved-elsewhere", "limit", "moderate", facts)


def _full(case: Case) -> Verdict:
    facts = ("memory-request", "memory-live", "memory-pool-free", "memory-device-free")
    share = case.peak.live / max(case.peak.reserved, 1)
    return Verdict("really-full", case.peak.cause, _graded(share, FULL_SHARE, 0.7), facts)


def _no_history(case: Case) -> Verdict | None:
    if int((case.history.events.action < Action.SNAPSHOT).sum()) >= FEW_EVENTS:
        return None
    return undecided(
        "The snapshot holds no history of the allocator: what is in use now says neither what "
        "the peak was nor what grows.",
        ("memory-live",),
    )


def _leak(case: Case) -> Verdict | None:
    growth = case.growth
    if not growth.is_leak(int(case.history.live_curve.max())):
        return None
    is_sure = growth.rows[0].chance <= 1e-3 and growth.cause != "reference-cycles"  # noqa: PLR2004 -- a test's word
    share = growth.total / max(case.peak.live, 1)
    strength: Strength = "weak" if not is_sure else "strong" if share >= 0.1 else "moderate"  # noqa: PLR2004 -- tenth
    return Verdict("leak", growth.cause, strength, ("memory-growth", "memory-steps", "memory-peak"))


def _churn(case: Case) -> Verdict | None:
    pool = case.fragmentation
    if not pool.wastes_segments:
        return None
    share = pool.avoidable_bytes / max(pool.reserved_peak, 1)
    facts = ("memory-avoidable-segments", "memory-reserved", "memory-peak", "memory-largest-free")
    return Verdict("fragmentation", "varying-sizes", _graded(share, 0.5, 0.35), facts)


def _peak(case: Case) -> Verdict | None:
    peak = case.peak
    is_one_tensor = (
        peak.cause not in (None, "activations")
        and peak.cause_bytes * 2 >= peak.transient
        and peak.transient >= TELLING_BYTES
    )
    is_large = peak.transient >= PEAK_BYTES or is_one_tensor
    if peak.share < PEAK_SHARE or not is_large:
        return None
    if case.capacity is not None and peak.live < NEGLIGIBLE_SHARE * case.capacity:
        return None
    facts = ("memory-peak", "memory-transient", "memory-peak-cause")
    return Verdict("transient-peak", peak.cause, _graded(peak.share, 0.6, 0.36), facts)


def _healthy(case: Case) -> Verdict:
    facts = ("memory-peak", "memory-transient", "memory-growth", "memory-avoidable-segments")
    return Verdict("healthy", None, "strong" if case.growth.is_tested else "weak", facts)


def _graded(value: float, strong: float, moderate: float) -> Strength:
    return "strong" if value >= strong else "moderate" if value >= moderate else "weak"


WITH_REFUSAL: tuple[Rule, ...] = (_pieces, _too_large, _elsewhere, _leak_at_refusal, _limit, _full)
WITHOUT_REFUSAL: tuple[Rule, ...] = (_no_history, _leak, _churn, _peak, _healthy)
