"""The verdict on memory as values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

MemoryClass = Literal[
    "really-full",
    "fragmentation",
    "leak",
    "transient-peak",
    "reserved-elsewhere",
    "request-too-large",
    "healthy",
    "undecided",
]
Strength = Literal["strong", "moderate", "weak"]


@dataclass(frozen=True)
class Verdict:
    """What is the matter with the memory.

    Attributes:
        cause: What refines it: ``loss-graph``, ``attention-scores``, ``limit`` ...; None where
            nothing does.
        because: Ids of the facts it rests on.
        undecided_reason: One sentence; None unless ``name`` is ``undecided``.
    """

    name: MemoryClass
    cause: str | None
    strength: Strength | None
    because: tuple[str, ...]
    undecided_reason: str | None = None


def undecided(reason: str, because: tuple[str, ...] = ()) -> Verdict:
    """No verdict, and why."""
    return Verdict("undecided", None, None, because, reason)
