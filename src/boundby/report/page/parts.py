"""What a page is made of, as plain values: the template lays them out, the browser draws them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from boundby.report import numbers, sanitize

Block = dict[str, Any]
"""One piece of a panel; ``kind`` names its macro in ``data/page/blocks.html``."""

ROW, AXIS = 30, 52
"""Pixels of a bar with the space around it, and of the axis below all bars."""
ROWS_FIRST = 12
"""Rows of a table that are seen before all are asked for."""


@dataclass(frozen=True)
class Panel:
    """A section of the page.

    Attributes:
        id: What links lead to.
        short: Its name among the contents, where the title is too long.
        lead: A sentence below the title.
    """

    id: str
    title: str
    blocks: tuple[Block, ...]
    short: str = ""
    lead: str = ""


@dataclass(frozen=True)
class Page:
    """A whole page.

    Attributes:
        title: Of the window.
        source: What the page is about, beside the name of the tool.
        panels: In reading order; the first holds the verdict.
        charts: What each chart shows, by the id of its block.
        lanes: The same of lanes.
        document: The JSON document of the same values.
    """

    title: str
    source: str
    panels: tuple[Panel, ...]
    charts: Mapping[str, Any] = field(default_factory=dict)
    lanes: Mapping[str, Any] = field(default_factory=dict)
    document: Mapping[str, Any] = field(default_factory=dict)


class Head(NamedTuple):
    """A column: ``name`` (code), ``text`` or ``number``; ``order`` where rows come sorted by it."""

    name: str
    type: Literal["name", "text", "number"] = "number"
    order: Literal["", "ascending", "descending"] = ""


class Cell(NamedTuple):
    """A cell: what it says, what it is sorted by, and what is told on hovering."""

    text: str
    value: float | None = None
    title: str = ""


def missing(reason: str) -> Block:
    """Why there is no figure, in one line."""
    return {"kind": "missing", "text": sanitize.shown(reason)}


def prose(text: str, style: str = "") -> Block:
    """A paragraph; backticks mark code."""
    return {"kind": "prose", "text": text, "style": style}


def heading(text: str) -> Block:
    """A heading inside a panel."""
    return {"kind": "heading", "text": text}


def pairs(rows: Iterable[tuple[str, str]]) -> Block:
    """Names and values, one pair a line; empty values are left out."""
    return {"kind": "pairs", "rows": [row for row in rows if row[1]]}


def listing(rows: Iterable[str]) -> Block:
    """A plain list."""
    return {"kind": "list", "rows": list(rows)}


def folded(title: str, *blocks: Block) -> Block:
    """Blocks that are seen once they are asked for."""
    return {"kind": "folded", "title": title, "blocks": blocks}


def columns(*parts: Sequence[Block]) -> Block:
    """Blocks side by side where the page is wide enough."""
    return {"kind": "columns", "columns": parts}


def code(text: str) -> Block:
    """Lines of code or of text that keep their places."""
    return {"kind": "code", "text": text}


def chart(identity: str, label: str, height: int, caption: str = "") -> Block:
    """The place of a chart; ``label`` says to who cannot see it what it shows."""
    return {
        "kind": "chart",
        "id": identity,
        "label": label,
        "height": height,
        "caption": caption,
    }


def bars_height(rows: Sequence[object]) -> int:
    """Pixels of a chart with one bar a row."""
    return AXIS + ROW * len(rows)


def table(
    identity: str,
    label: str,
    heads: Sequence[Head],
    rows: Iterable[Sequence[Cell]],
    first: int = ROWS_FIRST,
) -> Block:
    """A table that can be sorted and searched."""
    found = [tuple(row) for row in rows]
    return {
        "kind": "table",
        "id": identity,
        "label": label,
        "heads": heads,
        "rows": found,
        "first": first,
    }


def named(raw: str) -> Cell:
    """A name of the recording: short, and in full on hovering."""
    full, short = sanitize.shown(raw), sanitize.shown(sanitize.kernel(raw))
    return Cell(short, None, full if full != short else "")


def figure(value: float | None, text: str | None = None) -> Cell:
    """A number; a dash where it is unknown."""
    if value is None:
        return Cell("-")
    return Cell(numbers.number(value) if text is None else text, float(value))


def words(text: str) -> Cell:
    """Text of ours, or made safe."""
    return Cell(text)
