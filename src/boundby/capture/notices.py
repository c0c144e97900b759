"""What is wrong around the program, said also where no verdict can be given."""

from __future__ import annotations

from dataclasses import dataclass

from boundby.prescribe.case import Case, Live
from boundby.prescribe.catalogue import (
    debug_switches,
    detach_debugger,
    free_device,
    full_clocks,
    gc_schedule,
    grad_scaler,
    thread_limit,
)
from boundby.read.recording import Caliber
from boundby.replay.values import Estimate
from boundby.timeline.summary import DeviceSummary, HostSummary, QueueDelay
from boundby.verdict.decide import undecided

AROUND = (
    debug_switches.RULE,
    detach_debugger.RULE,
    free_device.RULE,
    full_clocks.RULE,
    grad_scaler.RULE,
    thread_limit.RULE,
    gc_schedule.RULE,
)
"""Rules that look at nothing but the surroundings."""


@dataclass(frozen=True)
class Notice:
    """One finding about the surroundings: the id of the change that cures it, and why."""

    id: str
    text: str


def notices(live: Live, step_ms: float | None) -> tuple[Notice, ...]:
    """Everything around the program that slows or falsifies it.

    Args:
        live: What a live run saw.
        step_ms: The unobserved step.
    """
    case = _bare_case(live, step_ms or 0.0)
    found = ((rule.id, rule.applies(case)) for rule in AROUND)
    return tuple(Notice(name, why) for name, why in found if why)


def _bare_case(live: Live, step_ms: float) -> Case:
    """A program of which only the surroundings are known."""
    nothing = QueueDelay(None, None)
    return Case(
        verdict=undecided(""),
        step=Estimate(step_ms, step_ms, step_ms),
        shares={},
        what_if={},
        ladder=(),
        device=DeviceSummary(None, None, None, None, None, None, None, nothing, None),
        host=HostSummary(None, None, None, None),
        caliber=Caliber(),
        evidence={},
        syncs=(),
        ops=(),
        ranges=(),
        live=live,
    )
