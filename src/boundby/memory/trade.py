"""What a remedy for memory costs in time, where it is known what bounds the step in time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from boundby.memory.case import Case
from boundby.memory.checkpointing import Advice, advise
from boundby.memory.pace import Pace
from boundby.memory.remedies import Remedy

UNKNOWN = "depends on what bounds the step in time: give --time-class or --trace"

NEEDED = "the batch does not fit without something of the kind"

Weigh = Callable[[Pace, Remedy], tuple[bool | None, str]]


def traded(remedy: Remedy, case: Case | None, pace: Pace | None) -> Remedy:
    """The remedy with what the verdict on time says about it; the same where it says nothing.

    Args:
        case: What a snapshot tells; None for a message that memory ran out.
    """
    if remedy.id == "checkpointing":
        advice = recomputing(case, pace, remedy.saves or 0)
        words = UNKNOWN if pace is None and advice.pays is None else advice.reason
        return replace(remedy, pays=advice.pays, trade=words)
    weigh = RULES.get(remedy.id)
    if weigh is None:
        return remedy
    if pace is None:
        return replace(remedy, trade=UNKNOWN)
    pays, words = weigh(pace, remedy)
    if pays is False and remedy.id in MAKES_ROOM and (case is None or case.refusal):
        pays, words = None, f"{words}; but {NEEDED}"
    return replace(remedy, pays=pays, trade=words)


def recomputing(case: Case | None, pace: Pace | None, saves: int) -> Advice:
    """Whether checkpointing pays in a case."""
    if case is None or case.refusal:
        return advise(fits=False, pace=pace)
    grows = anyway = None
    room = case.capacity or case.visible
    moving = case.peak.transient
    if room is not None and moving > saves:
        spare = max(room - (case.peak.live - moving), 0)
        grows, anyway = spare / (moving - saves), spare / moving
    return advise(fits=None, pace=pace, grows=grows, grows_anyway=anyway or 1.0)


def _micro_batches(pace: Pace, _remedy: Remedy) -> tuple[bool | None, str]:
    if pace.is_of_host:
        return False, f"the step is {pace.name}: four parts take about four times as long"
    return None, f"the step is {pace.name}: parts cost little while each keeps the device busy"


def _autocast(pace: Pace, _remedy: Remedy) -> tuple[bool | None, str]:
    if pace.is_of_host:
        return False, f"the step is {pace.name}: the casts are launches more, so it gets slower"
    return True, f"the step is {pace.name}: half the bytes and faster products"


def _larger_batch(pace: Pace, _remedy: Remedy) -> tuple[bool | None, str]:
    if pace.is_of_host:
        return True, f"the step is {pace.name}: it hardly grows with the batch"
    return False, f"the step is {pace.name}: samples per second hardly rise with the batch"


def _offload(pace: Pace, _remedy: Remedy) -> tuple[bool | None, str]:
    if pace.name == "compute-bound":
        return None, "the step is compute-bound: copies on another stream can hide behind it"
    return False, f"the step is {pace.name}: little computation hides the copies"


RULES: dict[str, Weigh] = {
    "micro-batches": _micro_batches,
    "bf16": _autocast,
    "larger-batch": _larger_batch,
    "offload": _offload,
}
MAKES_ROOM = frozenset({"micro-batches", "bf16", "offload"})
