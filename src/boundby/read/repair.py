"""Repair of text that is not JSON: only what real producers break, counted and never guessed."""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass, field

from boundby.read.events import Event, EventDecoder, NotEventsError
from boundby.read.lexical import BOUNDARY, event_extent

_BAD_NUMBER = rb"(?:[nN][aA][nN]|[iI][nN][fF](?:[iI][nN][iI][tT][yY])?)(?:\(\w*\))?"
_BAD_NUMBERS = re.compile(_BAD_NUMBER)
"""Without a sign: a search for a set of first letters is twenty times faster."""
_STRING_OR_BAD_NUMBER = re.compile(
    rb'"[^"\\]*(?:\\.[^"\\]*)*(?:"|\\?\Z)|[-+]?' + _BAD_NUMBER, re.DOTALL
)
"""A string (an unfinished one at the end included) or a number that JSON does not have."""
_ILLEGAL_IN_STRING = re.compile(
    rb'\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})|(?P<stray>\\)|(?P<control>[\x00-\x1f])'
)
_CONTROL = bytes(range(0x20))
_REPLACED = re.compile("\ufffd+")
MAX_JOINED = 8
"""How many pieces may be one event: an event holds a few objects at most, in its arguments."""
MAX_CARRIED_BYTES = 1 << 18
"""An unfinished piece longer than this is damage rather than an event still to be completed."""


def mend(text: bytes) -> tuple[bytes, int]:
    """The text with illegal strings and numbers rewritten, and how many there were.

    A string still unfinished at the end of the text is left as it is.
    """
    in_encoding = 0
    try:
        text.decode("utf-8")
    except UnicodeDecodeError:
        text, in_encoding = _mend_encoding(text)
    mended, changed = _mend_tokens(text) if b'\\"' in text else _mend_halves(text)
    return mended, changed + in_encoding


def _mend_encoding(text: bytes) -> tuple[bytes, int]:
    """Bytes that are not UTF-8 become U+FFFD; a character still incomplete at the end is kept."""
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    clean = decoder.decode(text)
    pending, _ = decoder.getstate()
    return clean.encode("utf-8") + pending, len(_REPLACED.findall(clean))


def _legal(match: re.Match[bytes]) -> bytes:
    if match["stray"]:
        return b"\\\\"
    return b" " if match["control"] else match.group()


def _mend_halves(text: bytes) -> tuple[bytes, int]:
    """For text without escaped quotes: every other part between quotes is a string."""
    parts = text.split(b'"')
    unfinished = [] if len(parts) % 2 else [parts.pop()]
    outside, changed = _BAD_NUMBERS.subn(b"null", b'"'.join(parts[0::2]))
    if changed:
        outside = outside.replace(b"-null", b"null").replace(b"+null", b"null")
        parts[0::2] = outside.split(b'"')
    before = parts[1::2]
    strings = b'"'.join(before)
    if b"\\" in strings or len(strings.translate(None, _CONTROL)) < len(strings):
        parts[1::2] = _ILLEGAL_IN_STRING.sub(_legal, strings).split(b'"')
        changed += sum(map(bytes.__ne__, before, parts[1::2]))
    return b'"'.join(parts + unfinished), changed


def _mend_tokens(text: bytes) -> tuple[bytes, int]:
    """For any text: string by string, which is about ten times slower."""
    changed = 0

    def replace(match: re.Match[bytes]) -> bytes:
        nonlocal changed
        token = match.group()
        if not token.startswith(b'"'):
            mended = b"null"
        elif token.endswith(b'"') and len(token) > 1:
            mended = _ILLEGAL_IN_STRING.sub(_legal, token)
        else:
            return token
        changed += mended != token
        return mended

    return _STRING_OR_BAD_NUMBER.sub(replace, text), changed


@dataclass(frozen=True)
class Salvage:
    """What could be read of a damaged text.

    Attributes:
        events: The events read.
        rest: Bytes after them: the begin of an event or, when ``ended``, what follows the list.
        ended: The list of events was closed in this text.
        lost: Events that could not be read.
    """

    events: list[Event] = field(default_factory=list)
    rest: bytes = b""
    ended: bool = False
    lost: int = 0


def _pieces(text: bytes) -> list[tuple[int, int]]:
    cuts = [(match.start() + 1, match.end() - 1) for match in BOUNDARY.finditer(text)]
    starts = [0, *(start for _, start in cuts)]
    ends = [*(end for end, _ in cuts), len(text)]
    return list(zip(starts, ends, strict=True))


def _decode_joined(
    text: bytes, pieces: list[tuple[int, int]], decoder: EventDecoder
) -> tuple[list[Event] | None, int]:
    """The events of the first piece, joined with the next ones while it is incomplete.

    With the number of pieces tried; None where they are not events.
    """
    start = pieces[0][0]
    for tried, (_, end) in enumerate(pieces, 1):
        try:
            return decoder.decode(text[start:end]), tried
        except NotEventsError as error:
            if not error.is_incomplete:
                return None, tried
    return None, len(pieces)


def _decode_end(text: bytes, decoder: EventDecoder) -> tuple[list[Event], int]:
    """The events before the end of the list, and where that is; 0 if there is no such end."""
    end = event_extent(text).array_end
    try:
        return (decoder.decode(text[:end]), end) if end else ([], 0)
    except NotEventsError:
        return [], 0


def salvage(text: bytes, decoder: EventDecoder, *, is_last: bool) -> Salvage:
    """All readable events of ``text``, which starts between two events, one piece at a time."""
    events: list[Event] = []
    pieces = _pieces(text)
    at = lost = 0
    while at < len(pieces):
        read, tried = _decode_joined(text, pieces[at : at + MAX_JOINED], decoder)
        if read is not None:
            events += read
            at += tried
            continue
        start = pieces[at][0]
        read, end = _decode_end(text[start : pieces[at + tried - 1][1]], decoder)
        if end:
            return Salvage(events + read, text[start + end + 1 :], ended=True, lost=lost)
        is_open = at + tried == len(pieces) and not is_last
        if is_open and len(text) - start <= MAX_CARRIED_BYTES:
            return Salvage(events, text[start:], lost=lost)
        lost += 1
        at += 1
    return Salvage(events, lost=lost)
