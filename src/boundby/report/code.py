"""Code in a report: a line that is too long gives up its alignment, then its trailing comment.

What is still too long is broken after a comma inside brackets, where the language allows it.
"""

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
        yield from _broken(row, width)
        return
    indent, statement, comment = found.group("indent", "code", "comment")
    close = f"{indent}{statement}  {comment}"
    if len(close) <= width:
        yield close
        return
    yield from _comment(indent + comment, width)
    yield from _broken(indent + statement, width)


def _comment(row: str, width: int) -> list[str]:
    indent = row[: len(row) - len(row.lstrip())]
    return textwrap.wrap(row, width, subsequent_indent=f"{indent}# ", break_on_hyphens=False)


def _broken(row: str, width: int, inside: tuple[int, ...] = ()) -> Iterator[str]:
    """A statement broken after the last comma that fits, of the outer ones; else whole.

    Args:
        inside: Columns behind the brackets that are open where the row begins.
    """
    breaks = [(at, column) for at, column in _commas(row, inside) if column < at <= width]
    if len(row) <= width or not breaks:
        yield row
        return
    at, column = min(breaks, key=lambda found: (found[1], -found[0]))
    yield row[:at]
    yield from _broken(" " * column + row[at:].lstrip(), width, (column,))


def _commas(row: str, inside: tuple[int, ...]) -> Iterator[tuple[int, int]]:
    """The end of each comma inside brackets and the column behind the innermost bracket."""
    opened = [*inside]
    quote = ""
    for at, character in enumerate(row):
        if quote:
            quote = "" if character == quote else quote
        elif character in "\"'":
            quote = character
        elif character in "([{":
            opened.append(at + 1)
        elif character in ")]}" and opened:
            opened.pop()
        elif character == "," and opened:
            yield at + 1, opened[-1]
