"""The decision as values: class, cause, strength, reasons, and the path that led there."""

from __future__ import annotations

from typing import Literal

from boundby.frozen import frozen

BoundClass = Literal[
    "launch-bound",
    "python-bound",
    "sync-bound",
    "memory-bound",
    "compute-bound",
    "communication-bound",
    "undecided",
]
Strength = Literal["strong", "moderate", "weak"]


@frozen
class RunnerUp:
    """The class that came second and its share of the step."""

    name: str
    share: float


@frozen
class Verdict:
    """What bounds the program.

    Attributes:
        because: Ids of the evidence it rests on.
        undecided_reason: One sentence; None unless ``name`` is ``undecided``.
    """

    name: BoundClass
    cause: str | None
    strength: Strength | None
    because: tuple[str, ...]
    runner_up: RunnerUp | None
    undecided_reason: str | None = None


@frozen
class Fork:
    """One fork of the method's decision tree with the branch this program took.

    Attributes:
        question: What was asked, e.g. ``device busy, unprofiled``.
        answer: The branch taken, e.g. ``sparse (11%)``.
    """

    question: str
    answer: str


@frozen
class DecisionPath:
    """The path through the tree, the class at its leaf, and why it may differ from the verdict."""

    forks: tuple[Fork, ...]
    leaf: str
    disagreement: str | None


@frozen
class Rung:
    """What the program is bound by before a fix, the fix (an edit id), and the step after it.

    Attributes:
        pays: False where this fix alone buys less than 2% now.
    """

    name: str
    fix: str
    step_ms: float
    pays: bool = True
