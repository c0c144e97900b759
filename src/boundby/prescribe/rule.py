"""A rule: when one change applies to a program, and what is known about it in general."""

from __future__ import annotations

from collections.abc import Callable
from enum import IntEnum

from boundby.frozen import frozen
from boundby.prescribe.case import Case
from boundby.prescribe.prediction import Prediction, replayed
from boundby.prescribe.prescription import Costs
from boundby.prescribe.readings import share
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


@frozen
class Rule:
    """One change of the catalogue.

    Attributes:
        title: What to do, an imperative sentence.
        how: Code in the user's terms, for any program.
        stop_when: When more of it no longer pays.
        does_not_help: When it buys nothing or does harm.
        edit: The what-if that predicts it, or what chooses among several; None without one.
        predict: Predicts it from more than one what-if; None where ``edit`` is all there is.
        no_estimate: Why nothing predicts it; only where ``edit`` is None.
        attacks: Parts of the step it can shorten: together the most it can gain.
        most: The most it can gain, share of the step, where that is not all it attacks.
        fit: ``how`` with what is known of this program.
        answers: Causes that it is the answer to, and classes where they have no cause.
        is_sure: Whether the program can do it; None where every program can.
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
    predict: Callable[[Case], Prediction | None] | None = None
    no_estimate: str = ""
    most: Callable[[Case], float | None] | None = None
    fit: Callable[[Case], str] | None = None
    answers: tuple[str, ...] = ()
    is_sure: Callable[[Case], bool] | None = None
    costs: Costs = NO_COSTS

    def prediction(self, case: Case) -> Prediction | None:
        """The step after the change; None where nothing predicts it."""
        if self.predict is not None:
            return self.predict(case)
        return replayed(case, self.edit(case) if callable(self.edit) else self.edit)

    def is_answer(self, case: Case) -> bool:
        """Whether it answers the cause of the verdict, or the class that has no cause.

        A larger batch does not where the verdict is weak: the device may as well be the limit.
        """
        verdict = case.verdict
        if (verdict.cause or verdict.name) not in self.answers:
            return False
        if self.turn == Turn.BATCH and verdict.strength == "weak":
            return False
        return self.is_sure is None or self.is_sure(case)

    def at_most(self, case: Case) -> float | None:
        """The most it can gain, share of the step; None where nothing tells."""
        return share(case, *self.attacks) if self.most is None else self.most(case)

    def code(self, case: Case) -> str:
        """How to do it in this program."""
        return self.how if self.fit is None else self.fit(case)
