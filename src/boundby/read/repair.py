"""Repair of a slice that is not JSON: only what real producers break, counted and never guessed."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from boundby.read.events import Event, EventDecoder, NotEventsError
from boundby.read.lexical import BOUNDARY, event_extent

_STRING_OR_WORD = re.compile(
    rb'"[^"\\]*(?:\\.[^"\\]*)*"|[-+]?\b(?:nan|inf(?:inity)?)\b(?:\(\w*\))?',
    re.DOTALL | re.IGNORECASE,
)
_CONTROL = re.compile(rb"[\x00-\x1f]")
_STRAY_BACKSLASH = re.compile(rb'\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})|\\')
MAX_JOINED = 8
"""How many pieces may be one event: an event holds a few objects at most, in its arguments."""
MAX_CARRIED_BYTES = 1 << 18
"""An unfinished piece longer than this is damage rather than an event still to be completed."""


@dataclass
class Repairs:
    """What was changed and what was given up.

    Attributes:
        values: Strings and numbers that were rewritten to legal JSON.
        lost: Events that could not be read at all.
    """

    values: int = 0
    lost: int = 0


def _legal_escape(match: re.Match[bytes]) -> bytes:
    return match.group() if len(match.group()) > 1 else b"\\\\"


def _mend_token(token: bytes) -> bytes:
    if not token.startswith(b'"'):
        return b"null"
    if b"\\" in token:
        token = _STRAY_BACKSLASH.sub(_legal_escape, token)
    return _CONTROL.sub(b" ", token)


def mend(text: bytes) -> tuple[bytes, int]:
    """The text with illegal strings and numbers rewritten, and how many there were."""
    changed = 0

    def replace(match: re.Match[bytes]) -> bytes:
        nonlocal changed
        token = match.group()
        mended = _mend_token(token)
        changed += mended != token
        return mended

    try:
        text.decode("utf-8")
    except UnicodeDecodeError:
        clean = text.decode("utf-8", "replace")
        changed += len(re.findall("\ufffd+", clean))
        text = clean.encode("utf-8")
    return _STRING_OR_WORD.sub(replace, text), changed


@dataclass(frozen=True)
class Salvage:
    """What could be read of a damaged slice.

    Attributes:
        events: The events read.
        rest: Bytes after them that may be the begin of an event or, when ``ended``, the tail.
        ended: The array of events was closed in this slice.
    """

    events: list[Event] = field(default_factory=list)
    rest: bytes = b""
    ended: bool = False


def _pieces(text: bytes) -> list[tuple[int, int]]:
    cuts = [match.start() + 1 for match in BOUNDARY.finditer(text)]
    starts = [0] + [text.index(b"{", cut) for cut in cuts]
    return list(zip(starts, [*cuts, len(text)], strict=True))


class Salvager:
    """Reads damaged slices event by event with a decoder, counting into ``repairs``."""

    def __init__(self, decoder: EventDecoder) -> None:
        self._decoder = decoder
        self.repairs = Repairs()

    def salvage(self, text: bytes, *, is_last: bool) -> Salvage:
        """All readable events of ``text``, which starts between two events."""
        mended, changed = mend(text)
        self.repairs.values += changed
        extent = event_extent(mended)
        if extent.array_end is not None:
            events = self._try(mended[: extent.array_end])
            if events is not None:
                return Salvage(events, mended[extent.array_end + 1 :], ended=True)
        return self._one_by_one(mended, is_last=is_last)

    def _try(self, text: bytes) -> list[Event] | None:
        try:
            return self._decoder.decode(text)
        except NotEventsError:
            return None

    def _one_by_one(self, text: bytes, *, is_last: bool) -> Salvage:
        events: list[Event] = []
        pieces = _pieces(text)
        at = 0
        while at < len(pieces):
            start = pieces[at][0]
            last = min(at + MAX_JOINED, len(pieces))
            for until in range(at, last):
                read = self._try(text[start : pieces[until][1]])
                if read is not None:
                    events += read
                    at = until + 1
                    break
            else:
                rest = text[start:]
                end = event_extent(rest).array_end
                if end is not None and (read := self._try(rest[:end])) is not None:
                    return Salvage(events + read, rest[end + 1 :], ended=True)
                if last == len(pieces) and not is_last and len(rest) <= MAX_CARRIED_BYTES:
                    return Salvage(events, rest)
                self.repairs.lost += 1
                at += 1
        return Salvage(events)
