"""Repair of text that is not JSON: only what real producers break, counted and never guessed."""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass, field

from boundby.read.events import Event, EventDecoder, NotEventsError
from boundby.read.lexical import event_extent, is_tail

_BAD_NUMBER = rb"(?:[nN][aA][nN]|[iI][nN][fF](?:[iI][nN][iI][tT][yY])?)(?:\(\w*\))?"
_BAD_NUMBERS = re.compile(_BAD_NUMBER)
"""Without a sign: a search for a set of first letters is twenty times faster."""
_STRING_OR_BAD_NUMBER = re.compile(
    rb'"[^"\\]*(?:\\.[^"\\]*)*(?:"|\\?\Z)|[-+]?' + _BAD_NUMBER, re.DOTALL
)
"""A string (an unfinished one at the end included) or a number that JSON does not have."""
_ILLEGAL_IN_STRING = re.compile(
    rb"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"
    rb"|(?P<half>\\u[dD][89a-fA-F][0-9a-fA-F]{2})"
    rb'|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})|(?P<stray>\\)|(?P<control>[\x00-\x1f])'
)
"""Escapes: pairs of surrogates, a surrogate alone, legal ones, strays; and control characters."""
_SEPARATOR = re.compile(rb"\}[\s,]*\{")
"""What separates two events in text whose commas are lost or doubled, and in any other."""
_EVENT_START = re.compile(rb'\s*\{\s*"(?:ph|name|cat)"\s*:')
_NAME = re.compile(
    rb'("name"\s*:\s*")((?:(?!"(?:ph|name)"\s*:)[^\x00-\x1f])*?)'
    rb'("\s*(?:,\s*"(?:ph|cat|pid|tid|ts|dur|id|args)"\s*:|\}))'
)
"""The name of an event, whatever quotes are in it, and what comes after; never two events."""
_BARE_QUOTE = re.compile(rb'\\.|(")')
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
    if match["half"]:
        return b"\\ufffd"
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


def escape_names(text: bytes) -> tuple[bytes, int]:
    """The text with the quotes inside names of events escaped, and how many names had any."""
    changed = 0

    def escape(match: re.Match[bytes]) -> bytes:
        nonlocal changed
        name = _BARE_QUOTE.sub(lambda found: b'\\"' if found[1] else found[0], match[2])
        changed += name != match[2]
        return match[1] + name + match[3]

    return _NAME.sub(escape, text), changed


@dataclass
class Salvage:
    """What could be read of a damaged text.

    Attributes:
        events: The events read.
        rest: Bytes after them: the begin of an event or, when ``ended``, what follows the list.
        ended: The list of events was closed in this text.
        mended: Strings and numbers rewritten.
        lost: Events that could not be read.
    """

    events: list[Event] = field(default_factory=list)
    rest: bytes = b""
    ended: bool = False
    mended: int = 0
    lost: int = 0


class Salvager:
    """Reads damaged text event by event; what is broken in one cannot spoil the next."""

    def __init__(self, text: bytes, decoder: EventDecoder, *, is_last: bool) -> None:
        self._text = text
        self._decoder = decoder
        self._is_last = is_last
        self._pieces = _pieces(text)
        self._salvage = Salvage()
        self._is_between_events = True

    def read(self) -> Salvage:
        """All readable events of the text, which starts between two events."""
        saved = self._salvage
        at = 0
        while at < len(self._pieces):
            tried = self._read_event(at)
            if tried > 0:
                saved.mended += self._follows_oddly(at)
                at += tried
                self._is_between_events = True
                continue
            if self._read_end(at, -tried):
                break
            is_open = at - tried == len(self._pieces) and not self._is_last
            begin = self._pieces[at][0]
            if is_open and len(self._text) - begin <= MAX_CARRIED_BYTES:
                saved.rest = self._text[begin:]
                break
            saved.lost += self._shows_event(begin)
            at += 1
            self._is_between_events = False
        return saved

    def _follows_oddly(self, at: int) -> bool:
        """Whether anything but one comma stands before this piece and the one before it."""
        if not at:
            return False
        return self._text[self._pieces[at - 1][1] : self._pieces[at][0]].count(b",") != 1

    def _shows_event(self, begin: int) -> bool:
        """Whether an event starts at ``begin``; after a loss that may be inside one."""
        return self._is_between_events or _EVENT_START.match(self._text, begin) is not None

    def _span(self, at: int, count: int) -> bytes:
        return self._text[self._pieces[at][0] : self._pieces[at + count - 1][1]]

    def _read_event(self, at: int) -> int:
        """Read the event at piece ``at``, joined with the next pieces while it is incomplete.

        The number of pieces tried, negative where they are no event.
        """
        tried = 0
        for tried in range(1, min(MAX_JOINED, len(self._pieces) - at) + 1):
            is_incomplete = self._decode(self._span(at, tried))
            if is_incomplete is None:
                return tried
            if not is_incomplete:
                break
        return -tried

    def _decode(self, text: bytes) -> bool | None:
        """Take the events of ``text``, mended if need be; else whether it is incomplete."""
        try:
            self._salvage.events += self._decoder.decode(text)
        except NotEventsError as error:
            if error.is_incomplete:
                return True
        else:
            return None
        mended, changed = mend(text)
        try:
            self._salvage.events += self._decoder.decode(mended)
        except NotEventsError as error:
            return self._decode_quoted(text, is_incomplete=error.is_incomplete)
        self._salvage.mended += changed
        return None

    def _decode_quoted(self, text: bytes, *, is_incomplete: bool) -> bool | None:
        """The same for a text whose names may hold bare quotes."""
        quoted, names = escape_names(text)
        if not names:
            return is_incomplete
        mended, changed = mend(quoted)
        try:
            self._salvage.events += self._decoder.decode(mended)
        except NotEventsError:
            return is_incomplete
        self._salvage.mended += names + changed
        return None

    def _read_end(self, at: int, count: int) -> bool:
        """Whether the list ends in these pieces; what follows it is the rest.

        If the event before the end is lost, the end is believed only in the last piece.
        """
        text = self._span(at, count)
        end = event_extent(text).array_end
        if not end or not self._shows_event(self._pieces[at][0]):
            return False
        rest = self._text[self._pieces[at][0] + end + 1 :]
        if not is_tail(rest):
            return False
        if self._decode(text[:end]) is not None:
            if not (self._is_last and at + count == len(self._pieces)):
                return False
            self._salvage.lost += 1
        self._salvage.rest = rest
        self._salvage.ended = True
        return True


def salvage(text: bytes, decoder: EventDecoder, *, is_last: bool) -> Salvage:
    """All readable events of ``text``, which starts between two events, one piece at a time."""
    return Salvager(text, decoder, is_last=is_last).read()


def _pieces(text: bytes) -> list[tuple[int, int]]:
    cuts = [(match.start() + 1, match.end() - 1) for match in _SEPARATOR.finditer(text)]
    starts = [0, *(start for _, start in cuts)]
    ends = [*(end for end, _ in cuts), len(text)]
    return list(zip(starts, ends, strict=True))
