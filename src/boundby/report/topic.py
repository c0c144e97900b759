"""A topic as text for a terminal or as JSON."""

from __future__ import annotations

import json

from boundby.report.layout import Line, Span, line
from boundby.report.terminal import Look, draw
from boundby.topics import Topic

SCHEMA_VERSION = 1


def render(topic: Topic, look: Look) -> str:
    """The text of a topic; headings without their marks."""
    title: Line = (Span(topic.id, "strong"), Span(f"  ({topic.kind})", "dim"))
    return draw([title, *map(_line, topic.text.rstrip().splitlines()[1:])], look)


def as_json(topic: Topic) -> str:
    """One topic as a JSON document."""
    return encode({"schema_version": SCHEMA_VERSION, **vars(topic)})


def encode(document: dict[str, object]) -> str:
    """A JSON document as ASCII text."""
    return json.dumps(document, indent=2) + "\n"


def _line(text: str) -> Line:
    if text.startswith("## "):
        return line(text.removeprefix("## "), "heading")
    return line(text, "code" if text.startswith("    ") else "")
