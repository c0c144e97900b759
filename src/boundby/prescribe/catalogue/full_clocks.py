"""Let the device run at its full clock."""

from __future__ import annotations

from boundby.prescribe.case import Case
from boundby.prescribe.prescription import Costs
from boundby.prescribe.readings import of_device
from boundby.prescribe.rule import DEVICE, Risk, Rule, Turn

HOW = """\
nvidia-smi -q -d CLOCK,POWER,TEMPERATURE,PERFORMANCE
nvidia-smi --reset-gpu-clocks           # clocks that someone locked
nvidia-smi --power-limit=700            # a cap below what the card allows
"""

CAPPED = 0.9
"""Boost clocks move by some percent with the load; below nine tenths something holds them."""


def applies(case: Case) -> str | None:
    """The clock is held down under load."""
    share, reasons = case.live.clock_share, case.live.clock_reasons
    if share is None or share >= CAPPED or not reasons:
        return None
    return (
        f"The device runs at {share:.0%} of its highest clock ({', '.join(reasons)}): kernels take "
        "longer by as much."
    )


def most(case: Case) -> float | None:
    """Kernels that follow the clock all the way."""
    return of_device(case, 1.0 - (case.live.clock_share or 1.0))


RULE = Rule(
    id="full-clocks",
    title="Find out what holds the clock of the device down.",
    how=HOW,
    stop_when="the clock under load is within a tenth of the highest",
    does_not_help="a step that the host sets; a power cap that belongs to the machine",
    applies=applies,
    attacks=DEVICE,
    turn=Turn.OUT_OF_LOOP,
    risk=Risk.NONE,
    most=most,
    no_estimate="kernels that wait for memory do not follow the clock",
    costs=Costs(memory="none"),
)
