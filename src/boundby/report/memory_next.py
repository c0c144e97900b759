"""What to type after a report on memory."""

from __future__ import annotations

from dataclasses import dataclass

from boundby.memory.diagnose import MemoryDiagnosis
from boundby.memory.message import TextDiagnosis
from boundby.shell import quoted


@dataclass(frozen=True)
class NextCommand:
    """A command worth typing next and the question it answers."""

    command: str
    question: str


def next_commands(diagnosis: MemoryDiagnosis) -> tuple[NextCommand, ...]:
    """At most three commands, the most useful first."""
    path = quoted(diagnosis.source.path)
    explain = NextCommand(
        f"boundby explain {diagnosis.verdict.name}", "what this verdict means, when to stop"
    )
    others = [each.id for each in diagnosis.devices if each.id != diagnosis.device]
    commands = [
        explain,
        NextCommand(f"boundby memory {path} --map", "the segments, block by block"),
    ]
    if others:
        command = f"boundby memory {path} --device {others[0]}"
        commands.insert(1, NextCommand(command, "the same question for another device"))
    return tuple(commands[:3])


def next_for_text(diagnosis: TextDiagnosis) -> tuple[NextCommand, ...]:
    """The meaning of the verdict, and how to learn who holds the memory."""
    return (
        NextCommand(f"boundby explain {diagnosis.verdict.name}", "what this verdict means"),
        NextCommand("boundby explain record-memory", "which lines hold the memory"),
    )
