"""Code in a report: a line that is too long gives up its alignment, then its trailing comment."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator

TRAILING_COMMENT = re.compile(r"(?P<indent>\s*)(?P<code>\S.*?)\s{2,}(?P<comment>#.*)")


def fold(code: str, width: int) -> list[str]:
    """The lines of a piece of code within ``width`` columns, as far as comments can give way."""
    return [part for row in code.expandtabs(4).splitlines() for part in _fold(row, width)]


def _fold(row: str, width: int) -> Iterator[str]:
    if len(row) <= width:
        yield row
        return
    if row.lstrip().startswith("#"):
        yield from _comment(row, width)
        return
    found = TRAILING_COMMENT.fullmatch(row)
    if found is None:
        yield row
        return
    indent, statement, comment = found.group("indent", "code", "comment")
    close = f"{indent}{statement}  {comment}"
    if len(close) <= width:
        yield close
        return
    yield from _comment(indent + comment, width)
    yield indent + statement


def _comment(row: str, width: int) -> list[str]:
    indent = row[: len(row) - len(row.lstrip())]
    return textwrap.wrap(row, width, subsequent_indent=f"{indent}# ", break_on_hyphens=False)
