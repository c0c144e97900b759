"""A change of the catalogue: when it applies, how it is applied, what it costs, and its patch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from boundby.experiment.values import Configuration, Facts, Gate
from boundby.prescribe.rule import Risk

if TYPE_CHECKING:
    from boundby.experiment.build import Build
    from boundby.experiment.outside import Outside

Permission = Literal["", "batch", "numerics"]
Stage = Literal["process", "model", "optimizer", "compile", "step"]
STAGES: tuple[Stage, ...] = ("process", "model", "optimizer", "compile", "step")
"""In which order changes are applied to a program, whatever order they were found in."""

Values = Callable[[Facts, Configuration], tuple[str, ...]]
"""The values to try on a configuration, in order; empty where the change does not apply."""


@dataclass(frozen=True)
class Answers:
    """The five questions about a change.

    Attributes:
        saves: Which of ``compute``, ``traffic``, ``sync``, ``launch``.
        memory: Whether it needs more.
        numerics: Whether results change.
        shapes: Whether it holds for some shapes only.
        startup: Whether cost moves to compilation or start-up.
    """

    saves: tuple[str, ...]
    memory: str = "no"
    numerics: str = "no"
    shapes: str = "no"
    startup: str = "no"


@dataclass(frozen=True)
class Change:
    """One change.

    Attributes:
        prescription: Id of the prescription it carries out; empty for none.
        allow: What the user must allow first.
        prior: Share of the step it saves where nothing predicts it, by value: a guess that only
            orders trials.
        unseen: Share in place of that guess where a recording was diagnosed and the rule of the
            prescription did not fire; None where the rule may be silent for another reason.
        apply: Changes a workload that is being built; None where its environment does all.
        outside: Changes an unchanged script from outside; None where that cannot be done.
        environment: Variables of the process.
        patch: Code that the user would write.
        precision: Lowest element type it computes in; empty for that of the program.
        replaces: Changes that cannot be in force beside it.
        stands_in_for: A change that goes first, where it applies and is to be tried, named as its
            prescription is; this one is tried once that was refused, and predicted to gain as much.
        repair: What to try after a failed gate: a value, or None.
        slow_start: Seconds beyond a usual trial that a value takes, mostly to compile.
        adjust: What else of a configuration must change with it.
        saves: What each value saves, where values are changes of their own: one that was no faster
            says nothing of the next.
    """

    id: str
    title: str
    answers: Answers
    values: Values
    prior: Callable[[Facts, str], float]
    patch: Callable[[str], str]
    stage: Stage = "process"
    risk: Risk = Risk.NONE
    prescription: str = ""
    unseen: float | None = None
    allow: Permission = ""
    apply: Callable[[Build, str], None] | None = None
    outside: Callable[[Outside, str], None] | None = None
    environment: Callable[[str], dict[str, str]] | None = None
    precision: str = ""
    replaces: tuple[str, ...] = ()
    stands_in_for: str = ""
    repair: Callable[[str, Gate], str | None] | None = None
    slow_start: Callable[[str], float] | None = None
    adjust: Callable[[Configuration], Configuration] | None = None
    saves: Callable[[str], tuple[str, ...]] | None = None

    def extra_s(self, value: str) -> float:
        """Seconds beyond a usual trial."""
        return self.slow_start(value) if self.slow_start else 0.0

    def saved_by(self, value: str) -> tuple[str, ...]:
        """Which of ``compute``, ``traffic``, ``sync``, ``launch`` a value saves."""
        return self.saves(value) if self.saves else self.answers.saves

    def fits(self, facts: Facts) -> bool:
        """Whether it can be applied to this kind of program at all."""
        return facts.kind == "workload" or self.outside is not None


def once(value: str, applies: Callable[[Facts], Any]) -> Values:
    """A change with a single value."""
    return lambda facts, _: (value,) if applies(facts) else ()


def prior(share: float) -> Callable[[Facts, str], float]:
    """The same guess for every program."""
    return lambda _, __: share
