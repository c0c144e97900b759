"""The five questions about each change that was tried, answered by its rule and by its trial."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from boundby.experiment.changes import BY_ID

Record = dict[str, Any]
MIB = 1 << 20
NOTICED = 0.02
"""Peak memory that moves by less, relative, is the allocator's rounding."""


@dataclass(frozen=True)
class Questions:
    """One change that was kept, and its five answers.

    Attributes:
        saves: Whether it saves compute, traffic, sync or launches.
        memory: Whether it needs more.
        numerics: Whether results change.
        shapes: Whether it holds for some shapes only.
        startup: Whether cost moved to compilation or start-up.
    """

    change: str
    value: str
    saves: str
    memory: str
    numerics: str
    shapes: str
    startup: str


def questions(run: Sequence[Record]) -> tuple[Questions, ...]:
    """Answers for every change that a run kept, in order."""
    kept = [each for each in run if each["decision"] in ("baseline", "kept")]
    pairs = pairwise(kept)
    return tuple(_answered(before, after) for before, after in pairs if after["change"] in BY_ID)


def _answered(before: Record, after: Record) -> Questions:
    change = BY_ID[after["change"]]
    answers = change.answers
    return Questions(
        change=after["change"],
        value=after["value"],
        saves=", ".join(change.saved_by(after["value"])),
        memory=_joined(_memory(before, after), answers.memory),
        numerics=_joined(answers.numerics, _gate(after)),
        shapes=answers.shapes,
        startup=_joined(_startup(before, after), answers.startup),
    )


def _memory(before: Record, after: Record) -> str:
    old, new = before["peak_bytes"], after["peak_bytes"]
    if not old or new is None:
        return ""
    change = (new - old) / MIB
    if abs(new - old) < NOTICED * old:
        return "measured: the same"
    return f"measured: {abs(change):.0f} MiB {'more' if change > 0 else 'less'}"


def _gate(after: Record) -> str:
    gate = after["gate"] or {}
    if gate.get("error") is None:
        return ""
    return f"error {gate['error']:.1e} of {gate['limit']:.1e} allowed"


def _startup(before: Record, after: Record) -> str:
    old, new = before["first_s"], after["first_s"]
    if old is None or new is None:
        return ""
    return f"first step after {new:.1f} s ({old:.1f} s before)"


def _joined(*parts: str) -> str:
    said = [part for part in parts if part]
    return "; ".join(said) if said else "no"
