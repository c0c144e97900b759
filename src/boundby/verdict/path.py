"""The method's decision tree, walked with what was measured, not with the replay.

Shape of the device lane, then what the host does or which kernels lead, then the class. It must
agree with the replay; where it does not, the reason is part of the path.
"""

from __future__ import annotations

from collections.abc import Mapping

from boundby.replay.values import Part
from boundby.timeline.summary import DeviceSummary, HostSummary
from boundby.verdict.classes import DEVICE_BOUND, DEVICE_CLASS
from boundby.verdict.decision import BoundClass, DecisionPath, Fork, Verdict


def walk(
    verdict: Verdict,
    device: DeviceSummary,
    host: HostSummary,
    shares: Mapping[Part, float],
) -> DecisionPath | None:
    """The path this program takes; None where the device or host lane is unknown."""
    busy = device.busy_share_unprofiled
    if busy is None or verdict.name == "undecided" or host.python_share is None:
        return None
    if busy >= DEVICE_BOUND:
        forks, leaf = _dense(busy, shares)
    else:
        forks, leaf = _sparse(busy, host)
    return DecisionPath(forks, leaf, _disagreement(verdict, leaf, busy))


def _dense(busy: float, shares: Mapping[Part, float]) -> tuple[tuple[Fork, ...], BoundClass]:
    lead = max(DEVICE_CLASS, key=lambda part: shares.get(part, 0.0))
    total = sum(shares.get(part, 0.0) for part in DEVICE_CLASS) or 1.0
    return (
        Fork("device lane", f"dense, {busy:.0%} busy"),
        Fork("which work leads", f"{lead.removeprefix('device-')}, {shares[lead] / total:.0%}"),
    ), DEVICE_CLASS[lead]


def _sparse(busy: float, host: HostSummary) -> tuple[tuple[Fork, ...], BoundClass]:
    submitting = (host.launch_call_share or 0.0) + (host.op_share or 0.0)
    doing: list[tuple[float, str, BoundClass]] = [
        (host.wait_share or 0.0, "waiting", "sync-bound"),
        (submitting, "submitting", "launch-bound"),
        (host.python_share or 0.0, "in Python", "python-bound"),
    ]
    share, what, leaf = max(doing)
    shape = "alternating with the host" if leaf == "sync-bound" else "sparse"
    return (
        Fork("device lane", f"{shape}, {busy:.0%} busy"),
        Fork("what the host does", f"{what}, {share:.0%} of its time as recorded"),
    ), leaf


def _disagreement(verdict: Verdict, leaf: BoundClass, busy: float) -> str | None:
    if leaf == verdict.name:
        return None
    if busy >= DEVICE_BOUND:
        return (
            f"the tree follows kernel time; the replay adds what the step waits for "
            f"({verdict.name})"
        )
    return (
        f"the tree sees recorded host time ({leaf}); the replay counts only what the step would "
        f"lose without it, observer subtracted ({verdict.name})"
    )
