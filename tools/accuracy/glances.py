"""Public recordings: no truth was measured, but an engineer says something at a glance."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from boundby.diagnose import diagnose
from boundby.errors import UnreadableError
from boundby.read import read_recording
from boundby.verdict.decision import Verdict
from tools.accuracy.questions import Answer

EXPECTATIONS = Path(__file__).parent / "public.json"

REFUSED = "refused"

ADVICE = re.compile(r"; |: record ")
"""Where the reason of an undecided verdict goes over to what to do about it."""


class Glance(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What can be seen in one public recording without a measurement.

    Attributes:
        accept: What counts as agreement: a class, ``class: cause``, or ``refused``.
        note: Why boundby says something else, and which of the two is to be believed.
    """

    file: str
    glance: str
    accept: tuple[str, ...]
    note: str | None = None


@dataclass(frozen=True)
class Compared:
    """A glance beside what boundby says, in words."""

    glance: Glance
    said: str
    agrees: bool


def load_glances() -> tuple[Glance, ...]:
    """The expectations that ship beside this file."""
    return msgspec.json.decode(EXPECTATIONS.read_bytes(), type=tuple[Glance, ...])


def compare_all(folder: Path) -> list[Compared]:
    """Every glance against what boundby says now."""
    return [compare(folder, glance) for glance in load_glances()]


def compare(folder: Path, glance: Glance) -> Compared:
    """One glance against what boundby says now."""
    try:
        diagnosis = diagnose(read_recording(folder / glance.file))
    except UnreadableError as error:
        return Compared(glance, f"refused: {_without(folder, error)}", REFUSED in glance.accept)
    verdict, busy = diagnosis.verdict, diagnosis.device.busy_share_unprofiled
    device = "" if busy is None else f"; device busy {busy:.0%} of the unprofiled step"
    return Compared(glance, in_words(verdict) + device, agrees(verdict, glance.accept))


def _without(folder: Path, error: UnreadableError) -> str:
    """The message without the place of this machine."""
    return str(error).splitlines()[0].replace(f"{folder}/", "")


def agrees(verdict: Verdict, accept: tuple[str, ...]) -> bool:
    """Whether a verdict is among the accepted; one with a cause must have that cause."""
    return verdict.name in accept or f"{verdict.name}: {verdict.cause}" in accept


def in_words(verdict: Verdict) -> str:
    """Class, cause and strength, or why there is none (without the advice that follows)."""
    if verdict.undecided_reason:
        return f"undecided: {ADVICE.split(verdict.undecided_reason)[0]}"
    cause = f" ({verdict.cause})" if verdict.cause else ""
    return f"{verdict.name}{cause}, {verdict.strength}"


def agreement(compared: Sequence[Compared]) -> Answer:
    """How many agree; a disagreement counts as met where its reason is given."""
    apart = [c for c in compared if not c.agrees]
    explained = sum(c.glance.note is not None for c in apart)
    n = len(compared)
    said = f"{n - len(apart)} of {n} agree; {explained} of {len(apart)} others explained"
    asked = "public recordings: verdict agrees with a glance"
    return Answer(asked, "agrees, or says why not", said, n, explained == len(apart))
