"""The list of everything that can be explained, as text for a terminal or as JSON."""

from __future__ import annotations

import textwrap

from boundby.report.layout import BLANK, Line, Span, line
from boundby.report.remedy import KIND, remedies
from boundby.report.terminal import Look, draw
from boundby.report.topic import SCHEMA_VERSION, encode
from boundby.topics import ids, summary

INDENT = 2


def listing(look: Look) -> str:
    """All ids by kind, with their summaries cut to one line."""
    lines: list[Line] = []
    for kind, summaries in every().items():
        column = max(map(len, summaries)) + INDENT
        lines += [BLANK] if lines else []
        lines.append(line(kind, "heading"))
        for name, text in summaries.items():
            short = _headline(text, look.width - column - INDENT)
            lines.append((Span(" " * INDENT + name.ljust(column), "id"), Span(short)))
    return draw(lines, look)


def every() -> dict[str, dict[str, str]]:
    """Summaries by id, by kind: of the topics, then of the changes in the catalogue."""
    by_kind = {kind: {name: summary(name) for name in known} for kind, known in ids().items()}
    by_kind[KIND] = {name: topic.summary for name, topic in remedies().items()}
    return {kind: summaries for kind, summaries in by_kind.items() if summaries}


def listing_json() -> str:
    """All ids by kind as a JSON document."""
    return encode({"schema_version": SCHEMA_VERSION, "topics": every()})


def _headline(text: str, width: int) -> str:
    """A summary on one line: what stands before its colon where the whole is too long."""
    short = text if len(text) <= width else text.partition(":")[0]
    return textwrap.shorten(short, width, placeholder=" ...")
