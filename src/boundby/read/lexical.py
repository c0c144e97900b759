"""JSON read as tokens only: where members, arrays and events begin and end, at any depth.

Nothing here decodes a value or recurses, so a deeply nested or damaged file costs one linear pass.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from boundby.frozen import frozen

_TOKEN = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"|[\[\]{}]|"', re.DOTALL)
_COLON = re.compile(rb"\s*:\s*")
_PRIMITIVE = re.compile(rb"[^,}\]\s]*")
BOUNDARY = re.compile(rb"\}\s*,\s*\{")
"""What separates two events, and also what may separate objects inside one."""


_TAIL = re.compile(rb'\s*(?:\Z|\}[\s\x00]*\Z|,\s*"[^"\\]*"\s*:)')


def is_tail(text: bytes) -> bool:
    """Whether ``text`` may follow the list of events: nothing, the end, or other members.

    More events there mean that the end was none: a second file was appended, say.
    """
    return _TAIL.match(text) is not None and b'"ph"' not in text


@frozen
class Member:
    """A key of an object and the span of its value; ``end`` is None where the text stops first."""

    key: bytes
    start: int
    end: int | None


def value_end(text: bytes, start: int) -> int | None:
    """The index just after the value that starts at ``start``; None if the text ends inside it."""
    if text[start : start + 1] not in (b"{", b"[", b'"'):
        match = _PRIMITIVE.match(text, start)
        return match.end() if match and match.end() < len(text) else None
    depth = 0
    for match in _TOKEN.finditer(text, start):
        token = text[match.start()]
        if token in b"{[":
            depth += 1
        elif token in b"}]":
            depth -= 1
        elif match.end() - match.start() == 1:
            return None  # A string that does not end.
        if depth == 0:
            return match.end()
    return None


def members(text: bytes, start: int, unmeasured: bytes | None = None) -> Iterator[Member]:
    """The members from ``start``, a place inside an object, to the end of that object or text.

    A member without an end is the last one. The first list under the key ``unmeasured`` is given
    without its end: the caller reads it itself.
    """
    at = start
    while match := _TOKEN.search(text, at):
        token = match.group()
        colon = _COLON.match(text, match.end())
        if not token.startswith(b'"') or len(token) < 2 or colon is None:  # noqa: PLR2004 - quotes
            return
        is_unmeasured = token[1:-1] == unmeasured and text.startswith(b"[", colon.end())
        end = None if is_unmeasured else value_end(text, colon.end())
        yield Member(token[1:-1], colon.end(), end)
        if end is None:
            return
        at = end


@frozen
class Extent:
    """What a run of events holds.

    Attributes:
        last_end: Index just after the last complete event, 0 if there is none.
        array_end: Index of the ``]`` that closes the array, None if it is not in the text.
    """

    last_end: int
    array_end: int | None


def event_extent(text: bytes) -> Extent:
    """Where the last complete event and the array end, for a text that starts between events."""
    depth = 0
    last_end = 0
    for match in _TOKEN.finditer(text):
        token = text[match.start()]
        if token in b"{[":
            depth += 1
        elif token in b"}]":
            if depth == 0:
                return Extent(last_end, match.start())
            depth -= 1
            if depth == 0:
                last_end = match.end()
        elif match.end() - match.start() == 1:
            break
    return Extent(last_end, None)
