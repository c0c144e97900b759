"""A topic, or the list of all, as text for a terminal or as JSON."""

from __future__ import annotations

import json
import textwrap

from boundby.report.layout import BLANK, Line, Span, line
from boundby.report.terminal import Look, draw
from boundby.topics import Topic, ids, summary

SCHEMA_VERSION = 1

INDENT = 2
"""Columns before the text of a topic, below its headings."""


def render(topic: Topic, look: Look) -> str:
    """The text of a topic; headings without their marks."""
    title: Line = (Span(topic.id, "strong"), Span(f"  ({topic.kind})", "dim"))
    return draw([title, *map(_line, topic.text.rstrip().splitlines()[1:])], look)


def listing(look: Look) -> str:
    """All ids by kind, with their summaries cut to one line."""
    lines: list[Line] = []
    for kind, known in ids().items():
        if not known:
            continue
        column = max(map(len, known)) + INDENT
        lines += [BLANK] if lines else []
        lines.append(line(kind, "heading"))
        for each in known:
            text = _headline(summary(each), look.width - column - INDENT)
            lines.append((Span(" " * INDENT + each.ljust(column), "id"), Span(text)))
    return draw(lines, look)


def as_json(topic: Topic) -> str:
    """One topic as a JSON document."""
    return _encode({"schema_version": SCHEMA_VERSION, **vars(topic)})


def listing_json() -> str:
    """All ids by kind as a JSON document."""
    return _encode({"schema_version": SCHEMA_VERSION, "topics": ids()})


def _headline(text: str, width: int) -> str:
    """A summary on one line: what stands before its colon where the whole is too long."""
    short = text if len(text) <= width else text.partition(":")[0]
    return textwrap.shorten(short, width, placeholder=" ...")


def _encode(document: dict[str, object]) -> str:
    return json.dumps(document, indent=2) + "\n"


def _line(text: str) -> Line:
    if text.startswith("## "):
        return line(text.removeprefix("## "), "heading")
    return line(text, "code" if text.startswith("    ") else "")
