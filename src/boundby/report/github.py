"""What GitHub Actions reads of a run of tests: annotations, and the summary of a step."""

from __future__ import annotations

from collections.abc import Iterable

from boundby.report.markdown import code, text

HEADS = ("| test | median | spread | against saved | doubts |", "| --- |" + " ---: |" * 4)


def annotation(name: str, title: str, message: str) -> str:
    """A workflow command at a test, ``file::name``: a warning with a title."""
    file, _, test = name.partition("::")
    head = f"file={escaped(file, ',:')},title={escaped(f'{test} {title}', ',:')}"
    return f"::warning {head}::{escaped(message)}"


def escaped(said: str, more: str = "") -> str:
    """As GitHub reads it back: a percent sign first, then what would end a value or a line."""
    for character in f"%\r\n{more}":
        said = said.replace(character, f"%{ord(character):02X}")
    return said


def summary(rows: Iterable[tuple[str, ...]], remarks: Iterable[str]) -> str:
    """A table of tests, one row each in the columns of ``HEADS``, and remarks below."""
    drawn = [f"| {' | '.join([code(name), *map(text, figures)])} |" for name, *figures in rows]
    below = [line for each in remarks for line in ("", text(each))]
    return "\n".join(["## boundby", "", *HEADS, *drawn, *below, ""])
