"""The five questions about each change that was tried, answered by its rule and by its trial."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal

from boundby.experiment.changes import BY_ID
from boundby.experiment.values import WIDE

Record = dict[str, Any]
Course = Literal["more", "same", "less"]
MIB = 1 << 20
NOTICED = 0.02
"""Peak memory that moves by less, relative, is the allocator's rounding."""
LONGER, LONGER_S = 1.3, 2.0
"""Times and seconds by which a first step must be later to be told as such: both, since starting a
process and reading its files varies by that much."""
LOSSES = "its losses alone were compared, since it draws random numbers"
PRECISIONS = {"bfloat16": "bf16", "float16": "fp16", "tf32": "TF32"}
SAID: dict[str, Course] = {"yes": "more", "less": "less"}
"""What a rule promises, by the word it begins with."""


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
    """Answers for every change that was kept, in order.

    Args:
        run: Every record of a journal: each change is held against the best before it, measured
            again where another run took the journal up.
    """
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
        memory=_answer(*_memory(before, after), answers.memory),
        numerics=_numerics(answers.numerics, _gate(after)),
        shapes=answers.shapes,
        startup=_answer(*_startup(before, after), answers.startup),
    )


def _memory(before: Record, after: Record) -> tuple[str, Course]:
    """What was measured, in words; empty where nothing was. And which way it went."""
    old, new = before["peak_bytes"], after["peak_bytes"]
    if not old or new is None:
        return "", "same"
    if abs(new - old) < NOTICED * old:
        return "measured the same", "same"
    course: Course = "more" if new > old else "less"
    return f"measured {abs(new - old) / MIB:.0f} MiB {course}", course


def _startup(before: Record, after: Record) -> tuple[str, Course]:
    """The same of the first step."""
    old, new = before["first_s"], after["first_s"]
    if old is None or new is None:
        return "", "same"
    is_longer = new > LONGER * old and new > old + LONGER_S
    return f"first step after {new:.1f} s ({old:.1f} s before)", "more" if is_longer else "same"


def _answer(measured: str, course: Course, rule: str) -> str:
    """What was measured, and what the rule says; of a rule that errs here, as what is usual."""
    if not measured:
        return rule
    if rule == "no":
        return measured if course == "more" else f"no: {measured}"
    said = next((each for word, each in SAID.items() if rule.startswith(word)), course)
    return f"{measured}; {rule if said == course else f'usually {rule}'}"


def _numerics(rule: str, gate: str) -> str:
    if not gate:
        return rule
    return f"no: {gate}" if rule == "no" else f"{rule}; {gate}"


def _gate(after: Record) -> str:
    gate = after["gate"] or {}
    if gate.get("error") is None:
        return LOSSES if gate.get("tensors") == 0 and gate.get("loss") else ""
    return f"error {gate['error']:.1e} of {gate['limit']:.1e} allowed{_unheld(gate)}"


def _unheld(gate: Record) -> str:
    """That limits hold nothing, where they are too wide for it."""
    wide, by = gate.get("wide") or 0, PRECISIONS.get(gate["precision"], gate["precision"])
    if wide > 1:
        return (
            f"; {by} itself puts {wide} of {gate['tensors']} tensors so far off, "
            "so only the losses hold them"
        )
    if wide or gate["limit"] > WIDE:
        return f"; {by} itself puts that tensor so far off, so only the losses hold it"
    return ""
