"""A rule: when one change applies to a program, and what is known about it in general."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum

from boundby.prescribe.case import Case
from boundby.prescribe.prescription import Costs
from boundby.replay.values import Part

HOST: tuple[Part, ...] = ("python", "submission")
DEVICE: tuple[Part, ...] = ("device-compute", "device-memory", "device-other")


NO_COSTS = Costs()


class Turn(IntEnum):
    """Whose turn it is among changes of like gain."""

    SWITCH = 0
    """A switch left on, which falsifies every other number: always first."""
    OUT_OF_LOOP = 1
    """Work, waits and loads out of the loop: right at any time."""
    BATCH = 2
    """Before it, what later changes gain cannot be measured."""
    OPTIMIZER = 3
    FUSE = 4
    VECTORIZE = 5
    PRECISION = 6
    """After the step is bound by the device."""
    LAYOUT = 7
    TRADE = 8
    """Memory against time."""
    GRAPH = 9
    """Most constraints, so last."""


class Risk(IntEnum):
    """What a change can break; gains are divided by it."""

    NONE = 1
    """One line, same numbers."""
    SHAPES = 2
    """Other rounding, or new demands on shapes or structure."""
    NUMERICS = 3
    """Fewer bits, or a data race if written wrongly."""
    CONSTRAINTS = 4
    """Fixed shapes, fixed addresses, no waits."""


Applies = Callable[[Case], str | None]
"""Why the change is called for, one sentence with its numbers; None where it is not."""


@dataclass(frozen=True)
class Rule:
    """One change of the catalogue.

    Attributes:
        title: What to do, an imperative sentence.
        how: Code in the user's terms.
        stop_when: When more of it no longer pays.
        does_not_help: When it buys nothing or does harm.
        edit: The what-if that predicts it, or what chooses among several; None without one.
        no_estimate: Why nothing predicts it; only where ``edit`` is None.
        attacks: Parts of the step it can shorten: together the most it can gain.
    """

    id: str
    title: str
    how: str
    stop_when: str
    does_not_help: str
    applies: Applies
    attacks: tuple[Part, ...]
    turn: Turn
    risk: Risk
    edit: str | Applies | None = None
    no_estimate: str = ""
    costs: Costs = NO_COSTS
