"""What a program under measurement is: a step, how to build it, and the twins that cure it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

Step = Callable[[], object]
Changes = Mapping[str, Any]

GRAPH_TWIN = "no_launch"
"""The twin whose whole step is captured in a CUDA graph, whatever else it changes."""


@dataclass(frozen=True)
class Program:
    """A small program.

    Attributes:
        name: Names its recordings.
        build: Makes the model, the data and the optimizer, and returns the step.
        arguments: What ``build`` is called with.
        twins: What-if -> the arguments that differ in the cured program.
        cause: What slows it, where it was built to have one.
        stack: Whether it is also recorded with Python stacks.
        limit_s: Seconds after which it is given up.
    """

    name: str
    build: Callable[..., Step]
    arguments: Changes = field(default_factory=dict)
    twins: Mapping[str, Changes] = field(default_factory=dict)
    cause: str | None = None
    stack: bool = False
    limit_s: float = 25.0

    def base(self) -> Step:
        """The step as it is."""
        return self.build(**self.arguments)

    def cured(self, twin: str) -> Step:
        """The step of a twin, not yet captured where the twin is the graph."""
        return self.build(**{**self.arguments, **self.twins[twin]})


def batches(batch: int, *factors: int) -> dict[str, Changes]:
    """The twins with a batch 2, 4, 8 times as large."""
    return {f"batch_x{factor}": {"batch": batch * factor} for factor in factors}
