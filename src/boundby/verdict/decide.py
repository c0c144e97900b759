"""The decision: class, cause, strength, or undecided with a reason."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from boundby.frozen import frozen
from boundby.read.recording import Quality
from boundby.replay.values import Part, WaterfallPart
from boundby.verdict.classes import (
    DEFAULT_CAUSE,
    DEVICE_CLASS,
    HOST_CLASS,
    class_of,
    device_share,
    leading_part,
    runner_up,
    shares_of,
)
from boundby.verdict.decision import Strength, Verdict

STRONG_SHARE = 0.20
MODERATE_SHARE = 0.10
CLEARLY_DEVICE = 0.95
"""Device share from which a device class can be strong: halfway between the rule and full."""
CLEAR_OF_NEXT = 1.25
"""How far the leading host part must stand above the next: the split of the host line into Python
and submission is good to about a quarter (with and without recorded frames of one program)."""
CLEAR_LEAD = 0.60
"""Share of device time that the leading kind needs for a strong device class."""

BECAUSE: dict[Part, tuple[str, ...]] = {
    "data": ("loader-wait", "batch-line", "loader-function", "idle-period", "device-busy"),
    "sync": (
        "sync-cost",
        "wait-item",
        "wait-explicit-sync",
        "wait-data-dependent-shape",
        "wait-host-copy",
        "device-busy",
    ),
    "python": ("python-time", "python-line", "python-function", "device-busy", "launches"),
    "submission": ("submission-time", "launches", "kernel-median", "device-busy"),
    "device-compute": (
        "device-busy",
        "device-compute",
        "roof-compute",
        "fp32-products",
        "small-kernels",
        "mfu",
    ),
    "device-memory": (
        "device-busy",
        "device-memory",
        "roof-memory",
        "score-traffic",
        "layout-conflict",
        "cast-traffic",
        "chain-traffic",
        "special-bound",
    ),
    "device-other": ("device-busy",),
    "device-copy": ("device-copy", "device-busy"),
    "device-communication": ("device-communication", "device-busy"),
}
"""Ids of the evidence each part rests on; those the recording lacks are left out."""


WEAKENING = frozenset(
    {
        "bad-clock",
        "crossing-events",
        "early-return",
        "late-clock",
        "no-length",
        "one-long-event",
        "other-devices",
        "outlasting-events",
        "replay-differs",
        "shared-ids",
        "step-not-met",
        "uneven-steps",
        "unrecorded-wait",
    }
)
"""Findings that leave a verdict weak at best where they are warnings: its device time is open."""


UNKNOWN_WORK = (
    "the device sets the step, but none of its work is of a known kind: neither kernel names nor "
    "shapes tell what holds it up; record with record_shapes=True"
)

UNSPLIT_HOST = (
    "the host sets the step, but no operators are recorded: whether Python or operators take the "
    "time between launch calls cannot be told; record with ProfilerActivity.CPU as well (nsys: "
    "inside torch.autograd.profiler.emit_nvtx())"
)


@frozen
class Outlook:
    """The waterfall of the best estimate and of the programs that test it.

    Attributes:
        low, high: Both ends of the range.
        recorded: The program as recorded, observer included; None where the step was measured.
        doubtful: Whether the estimate rests on little: nothing of it makes a strong verdict.
        has_operators: Whether what no call covers is Python, and not operators unrecorded.
    """

    clean: Sequence[WaterfallPart]
    low: Sequence[WaterfallPart]
    high: Sequence[WaterfallPart]
    recorded: Sequence[WaterfallPart] | None = None
    doubtful: bool = False
    has_operators: bool = True

    @property
    def tests(self) -> list[Sequence[WaterfallPart]]:
        """Waterfalls that must name the same class for the verdict to be strong."""
        return [self.low, self.high, *([self.recorded] if self.recorded else [])]


def undecided(reason: str) -> Verdict:
    """No verdict, and why."""
    return Verdict("undecided", None, None, (), None, reason)


def voiding(quality: Sequence[Quality]) -> str | None:
    """What voids a verdict on this recording, one sentence; None where nothing does."""
    return next((q.message for q in quality if q.severity == "fatal"), None)


def weakens(quality: Sequence[Quality]) -> bool:
    """Whether a finding leaves a verdict on this recording weak at best."""
    return any(q.severity == "warning" and q.id in WEAKENING for q in quality)


def decide(outlook: Outlook, causes: Mapping[str, str], known: frozenset[str]) -> Verdict:
    """Name the class.

    Args:
        causes: The cause found for each class, by class name.
        known: Ids of the evidence at hand.
    """
    shares = shares_of(outlook.clean)
    lead = leading_part(shares)
    if not shares[lead]:
        return undecided(UNKNOWN_WORK)
    if lead == "python" and not outlook.has_operators:
        return undecided(UNSPLIT_HOST)
    name = class_of(lead)
    return Verdict(
        name=name,
        cause=DEFAULT_CAUSE.get(lead) or causes.get(name),
        strength=_strength(lead, outlook),
        because=tuple(i for i in BECAUSE[lead] if i in known),
        runner_up=runner_up(shares, lead),
    )


def _strength(lead: Part, outlook: Outlook) -> Strength:
    shares = shares_of(outlook.clean)
    if outlook.doubtful or _unexplained(lead, shares):
        return "weak"
    agreeing = [class_of(leading_part(shares_of(t))) == class_of(lead) for t in outlook.tests]
    in_range, everywhere = all(agreeing[:2]), all(agreeing)
    if lead in DEVICE_CLASS:
        clear = device_share(shares) >= CLEARLY_DEVICE and _leads_device(lead, shares)
        return "strong" if clear and everywhere else "moderate" if in_range else "weak"
    if everywhere and shares[lead] >= STRONG_SHARE and _leads_host(lead, shares):
        return "strong"
    return "moderate" if in_range and shares[lead] >= MODERATE_SHARE else "weak"


def _unexplained(lead: Part, shares: Mapping[Part, float]) -> bool:
    """Whether gaps and work of unknown kind take more of the device than what names the class."""
    return lead in DEVICE_CLASS and shares.get("device-other", 0.0) > shares[lead]


def _leads_host(lead: Part, shares: Mapping[Part, float]) -> bool:
    """Whether the leading host part would still lead if the split of the host line were off."""
    others = [shares.get(p, 0.0) for p in HOST_CLASS if class_of(p) != class_of(lead)]
    return shares[lead] >= CLEAR_OF_NEXT * max(others)


def _leads_device(lead: Part, shares: Mapping[Part, float]) -> bool:
    return shares[lead] >= CLEAR_LEAD * device_share(shares)
