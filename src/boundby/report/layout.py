"""Lines of styled spans, and the label column that every section of the terminal report shares."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

LABEL_WIDTH = 11
"""Columns of the label at the left of a section."""


class Span(NamedTuple):
    """A piece of a line; ``style`` is a role (``label``, ``strong`` ...), not a colour."""

    text: str
    style: str = ""


Line = tuple[Span, ...]

BLANK: Line = ()


@dataclass(frozen=True)
class Space:
    """The room a section has, and how much it should say.

    Attributes:
        width: Columns right of the labels.
        full, sliver: Characters of a bar: filled, and for a part too small to fill one.
        detail: All of everything instead of the deciding few.
    """

    width: int
    full: str = "#"
    sliver: str = "."
    detail: bool = False


def line(text: str, style: str = "") -> Line:
    """A line of one span."""
    return (Span(text, style),)


def wrap(text: str, width: int, most: int | None = None) -> list[str]:
    """Text broken at spaces, long words too; beyond ``most`` lines it ends in dots."""
    lines = textwrap.wrap(
        text, max(width, 1), break_on_hyphens=False, max_lines=most, placeholder=" ..."
    )
    return lines or [""]


def paragraph(text: str, width: int, style: str = "") -> list[Line]:
    """Wrapped text, one style; nothing where there is no text."""
    return [line(part, style) for part in wrap(text, width)] if text else []


def lead(head: Span, text: str, width: int) -> list[Line]:
    """Wrapped text that opens with a styled head; the head itself stays on the first line."""
    parts = wrap(head.text + text, width)
    first = (head, Span(parts[0][len(head.text) :]))
    return [first, *(line(part) for part in parts[1:])]


def entry(head: Span, text: str, width: int, *, column: int, most: int | None = None) -> list[Line]:
    """A head in a column of its own, and text wrapped beside it in at most so many lines."""
    parts = wrap(text, width - column, most)
    first = (Span(head.text.ljust(column), head.style), Span(parts[0]))
    return [first, *((Span(" " * column), Span(part)) for part in parts[1:])]


def section(label: str, body: Iterable[Line]) -> list[Line]:
    """The body with its label beside the first line; nothing where there is no body."""
    lines = []
    for row in body:
        lines.append((Span(label.ljust(LABEL_WIDTH), "label" if label else ""), *row))
        label = ""
    return lines


def plain(row: Line) -> str:
    """A line without its styles."""
    return "".join(span.text for span in row).rstrip()


def plural(count: int, noun: str) -> str:
    """``1 step``, ``3 steps``."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
