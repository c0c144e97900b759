"""A JSON text cut into slices of events: head, slices of the list of events, tail.

A slice ends at any ``},{``; that the slice decodes as an array proves that the cut lies between
two events, since a cut inside an event or a string leaves something open.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from boundby.read.events import Event, EventDecoder, NotEventsError
from boundby.read.lexical import BOUNDARY, event_extent, is_tail, members
from boundby.read.repair import mend, salvage

SLICE_BYTES = 1 << 20
HEAD_LIMIT_BYTES = 64 << 20
TAIL_LIMIT_BYTES = 64 << 20
EVENT_LIMIT_BYTES = 16 << 20
"""More text than this without a complete event is damage."""
_PROBE_BYTES = 1 << 16
_SPACE = b" \t\r\n\x00"
_BETWEEN_EVENTS = b", \t\r\n"
_BOM = b"\xef\xbb\xbf"
_TRIED_CUTS = (1, 2, 4, 8, 16, 32)
"""Counted from the end: an event may hold objects of its own, so the last cut may be inside it."""
_LIST_KEY = b"traceEvents"
_LIST = re.compile(rb'"traceEvents"\s*:\s*(\[)\s*[{\]]')


class NoEventsError(ValueError):
    """The text holds no list of events; ``reason`` is ``empty``, ``not-json`` or ``no-list``."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


def _cuts(text: bytes) -> Iterator[tuple[int, int]]:
    """Places to cut, best first: (end of the slice, start of what follows)."""
    window = max(len(text) - _PROBE_BYTES, 0)
    found = [match.span() for match in BOUNDARY.finditer(text, window)]
    if not found and window:
        found = [match.span() for match in BOUNDARY.finditer(text)]
    for back in _TRIED_CUTS:
        if back <= len(found):
            start, end = found[-back]
            yield start + 1, end - 1


class EventStream:
    """The events of a JSON text, slice by slice; ``open`` first, then iterate once.

    Attributes:
        head: Text before the list of events; empty for a bare list.
        tail: Text after it, up to a limit.
        mended: Strings and numbers that had to be rewritten to legal JSON.
        lost: Events that could not be read.
        cut_short: The text ended before the list of events was closed.
    """

    def __init__(
        self, pieces: Iterator[bytes], decoder: EventDecoder, slice_bytes: int = SLICE_BYTES
    ) -> None:
        self._pieces = pieces
        self._decoder = decoder
        self._slice_bytes = slice_bytes
        self._buffer = b""
        self._is_exhausted = False
        self._is_closed = False
        self.head = b""
        self.tail = b""
        self.mended = 0
        self.lost = 0
        self.cut_short = False

    def _read(self, size: int) -> None:
        """Append at least ``size`` bytes to the buffer, or all that is left."""
        parts = [self._buffer]
        while size > 0 and not self._is_exhausted:
            piece = next(self._pieces, None)
            if piece is None:
                self._is_exhausted = True
                break
            parts.append(piece)
            size -= len(piece)
        self._buffer = b"".join(parts)

    def open(self) -> None:
        """Read up to the first event; raises NoEventsError if there is no list of events."""
        self._read(_PROBE_BYTES)
        self._buffer = self._buffer.removeprefix(_BOM).lstrip(_SPACE)
        while not self._buffer and not self._is_exhausted:
            self._read(_PROBE_BYTES)
            self._buffer = self._buffer.lstrip(_SPACE)
        if not self._buffer:
            raise NoEventsError("empty")
        if self._buffer.startswith(b"["):
            self._buffer = self._buffer[1:]
        elif self._buffer.startswith(b"{"):
            self._open_object()
        else:
            raise NoEventsError("not-json")
        self._require_objects()

    def _open_object(self) -> None:
        while (start := self._list_start()) is None:
            if self._is_exhausted or len(self._buffer) > HEAD_LIMIT_BYTES:
                raise NoEventsError("no-list")
            self._read(len(self._buffer))
        self.head = self._buffer[:start]
        self._buffer = self._buffer[start + 1 :]

    def _list_start(self) -> int | None:
        """Where the list of events opens; None while it is not in the buffer.

        Behind a member that is no JSON (a quote inside a user's metadata) the key itself is sought.
        """
        behind = 1
        for member in members(self._buffer, 1, _LIST_KEY):
            if member.key == _LIST_KEY and self._buffer.startswith(b"[", member.start):
                return member.start
            if member.end is None and not self._is_exhausted:
                return None
            behind = member.end or member.start
        found = _LIST.search(self._buffer, behind)
        if found is None:
            return None
        self.mended += 1
        return found.start(1)

    def _require_objects(self) -> None:
        """A list of anything but objects is no list of events."""
        while not (start := self._buffer.lstrip(_SPACE)) and not self._is_exhausted:
            self._read(_PROBE_BYTES)
        if start and not start.startswith((b"{", b"]")):
            raise NoEventsError("no-list")

    def __iter__(self) -> Iterator[list[Event]]:
        while not self._is_closed:
            self._read(self._slice_bytes)
            if events := self._take():
                yield events

    def _take(self) -> list[Event]:
        """The next run of events, removed from the buffer; may be empty while one is incomplete."""
        events = self._take_sound(self._buffer)
        if events is None:
            text, changed = mend(self._buffer)
            events = self._take_sound(text) if changed else None
            self.mended += changed if events is not None else 0
        return self._salvage(self._buffer) if events is None else events

    def _take_sound(self, text: bytes) -> list[Event] | None:
        """The next run of events of ``text``; None if something in it is damaged."""
        for end, after in _cuts(text):
            try:
                events = self._decoder.decode(text[:end])
            except NotEventsError as error:
                if error.is_incomplete:
                    continue
                if error.is_overlong:
                    break
                return None
            self._buffer = text[after:]
            return events
        return self._take_by_extent(text)

    def _take_by_extent(self, text: bytes) -> list[Event] | None:
        extent = event_extent(text)
        if extent.array_end is not None:
            return self._take_last(text, extent.array_end)
        if not extent.last_end:
            return self._wait_for_event(text)
        events = self._decoded(text[: extent.last_end])
        if events is not None:
            self._go_on(text[extent.last_end :])
        return events

    def _take_last(self, text: bytes, end: int) -> list[Event] | None:
        """The events before ``end``, where the list seems to end; None if that is not its end."""
        if len(text) - end < _PROBE_BYTES and not self._is_exhausted:
            self._buffer = text
            self._read(_PROBE_BYTES)
            return []
        events = self._decoded(text[:end]) if is_tail(text[end + 1 :]) else None
        if events is not None:
            self._close(text[end + 1 :])
        return events

    def _decoded(self, text: bytes) -> list[Event] | None:
        try:
            return self._decoder.decode(text.strip(_BETWEEN_EVENTS))
        except NotEventsError:
            return None

    def _wait_for_event(self, text: bytes) -> list[Event] | None:
        """Read on, since no event is complete; None if reading on cannot help."""
        if self._is_exhausted or len(text) > EVENT_LIMIT_BYTES:
            return None
        self._buffer = text
        self._read(len(text))
        return []

    def _salvage(self, text: bytes) -> list[Event]:
        saved = salvage(text, self._decoder, is_last=self._is_exhausted)
        self.lost += saved.lost
        self.mended += saved.mended
        if saved.ended:
            self._close(saved.rest)
        else:
            self._go_on(saved.rest)
        return saved.events

    def _go_on(self, rest: bytes) -> None:
        """Go on with ``rest``, the begin of an event, if there is any text left."""
        self._buffer = rest.lstrip(_BETWEEN_EVENTS)
        if self._is_exhausted and not self._buffer:
            self.cut_short = True
            self._is_closed = True

    def _close(self, rest: bytes) -> None:
        self._buffer = rest
        self._read(TAIL_LIMIT_BYTES - len(rest))
        self.tail = self._buffer
        self._buffer = b""
        self._is_closed = True
