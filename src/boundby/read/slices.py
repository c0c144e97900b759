"""A stream of JSON text cut into slices of events: head, slices of ``traceEvents``, tail.

A slice ends at any ``},{``; that the slice decodes as an array proves that the cut lies between
two events, since a cut inside an event or a string leaves something open.
"""

from __future__ import annotations

from collections.abc import Iterator

from boundby.read.events import Event, EventDecoder, NotEventsError
from boundby.read.lexical import BOUNDARY, event_extent, members
from boundby.read.repair import MAX_CARRIED_BYTES, Salvager

SLICE_BYTES = 1 << 20
HEAD_LIMIT_BYTES = 64 << 20
TAIL_LIMIT_BYTES = 64 << 20
EVENT_LIMIT_BYTES = 16 << 20
"""Without a boundary in this much text, it is no list of events."""
_SPACE = b" \t\r\n\x00"
_BOM = b"\xef\xbb\xbf"
_SEARCHED_TAIL_BYTES = 1 << 16
_TRIED_CUTS = (1, 2, 4, 8, 16, 32)
_WANTED_LIST = b"traceEvents"


class NoEventsError(ValueError):
    """The text holds no list of events; ``reason`` is ``empty``, ``not-json`` or ``no-list``."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


def _cuts(text: bytes) -> Iterator[tuple[int, int]]:
    """Places to cut, best first: (end of the slice, start of what follows)."""
    window = max(len(text) - _SEARCHED_TAIL_BYTES, 0)
    found = [match.span() for match in BOUNDARY.finditer(text, window)]
    if not found and window:
        found = [match.span() for match in BOUNDARY.finditer(text)]
    for back in _TRIED_CUTS:
        if back <= len(found):
            start, end = found[-back]
            yield start + 1, end - 1


class EventStream:
    """The events of a JSON text, slice by slice, with the text around them.

    Attributes:
        head: Text before the list of events, empty for a bare list.
        tail: Text after it, up to a limit.
        salvager: Counts what was repaired and lost.
        cut_short: The text ended before the list was closed.
    """

    def __init__(self, pieces: Iterator[bytes], decoder: EventDecoder, slice_bytes: int = SLICE_BYTES) -> None:
        self._pieces = pieces
        self._decoder = decoder
        self._slice_bytes = slice_bytes
        self._buffer = b""
        self._is_exhausted = False
        self.salvager = Salvager(decoder)
        self.head = b""
        self.tail = b""
        self.cut_short = False

    def _fill(self, size: int) -> None:
        """Have at least ``size`` bytes in the buffer, or all that is left."""
        have = [self._buffer]
        length = len(self._buffer)
        while length < size:
            piece = next(self._pieces, None)
            if piece is None:
                self._is_exhausted = True
                break
            have.append(piece)
            length += len(piece)
        self._buffer = b"".join(have)

    def open(self) -> None:
        """Read up to the first event; raises NoEventsError if there is no list of events."""
        while not self._buffer and not self._is_exhausted:
            self._fill(min(self._slice_bytes, 1 << 16))
            self._buffer = self._buffer.removeprefix(_BOM).lstrip(_SPACE)
        if not self._buffer:
            raise NoEventsError("empty")
        if self._buffer.startswith(b"["):
            self._buffer = self._buffer[1:]
        elif self._buffer.startswith(b"{"):
            self._open_object()
        else:
            raise NoEventsError("not-json")

    def _open_object(self) -> None:
        size = len(self._buffer)
        while True:
            for member in members(self._buffer, 1):
                if member.key == _WANTED_LIST and self._buffer[member.start : member.start + 1] == b"[":
                    self.head = self._buffer[: member.start]
                    self._buffer = self._buffer[member.start + 1 :]
                    return
            if self._is_exhausted or size > HEAD_LIMIT_BYTES:
                raise NoEventsError("no-list")
            size = max(2 * size, self._slice_bytes)
            self._fill(size)

    def __iter__(self) -> Iterator[list[Event]]:
        while True:
            self._fill(self._slice_bytes)
            if self._is_exhausted and self._ends_here():
                return
            yield from self._next_slice()

    def _ends_here(self) -> bool:
        """Whether no event is left; what follows the list becomes the tail."""
        left = self._buffer.lstrip(b", \t\r\n")
        if left.startswith(b"]"):
            self._close(left[1:])
            return True
        self.cut_short |= not left
        return not left

    def _close(self, rest: bytes) -> None:
        self._buffer = rest
        if not self._is_exhausted:
            self._fill(TAIL_LIMIT_BYTES)
        self.tail = self._buffer
        self._buffer = b"]"
        self._is_exhausted = True

    def _next_slice(self) -> Iterator[list[Event]]:
        text = self._buffer
        for end, after in _cuts(text):
            try:
                events = self._decoder.decode(text[:end])
            except NotEventsError:
                continue
            self._buffer = text[after:]
            yield events
            return
        yield from self._hard_slice(text)
