"""One Kineto event as typed values, and the decoding of a slice of events into them."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Any

import msgspec
from msgspec import Raw, Struct, field

from boundby.read.recording import NONE

Loose = int | str | float | None
"""Integers that some producer wrote as something else."""
ABSENT = Raw(b"")

EXACT_BELOW_US = 2.0**43
"""A double holds nanoseconds of a time in microseconds only below this (about 100 days)."""


class Arguments(Struct, gc=False, frozen=True):
    """The fields of ``args`` that are read; everything else is skipped undecoded."""

    external: Loose = field(default=NONE, name="External id")
    external_2021: Loose = field(default=NONE, name="external id")
    correlation: Loose = NONE
    sequence: Loose = field(default=NONE, name="Sequence number")
    python_id: Loose = field(default=NONE, name="Python id")
    device: Loose = NONE
    stream: Loose = NONE
    bytes: Loose = NONE
    grid: Any = None
    block: Any = None
    dims: Raw = field(default=ABSENT, name="Input Dims")
    dims_2021: Raw = field(default=ABSENT, name="Input dims")
    types: Raw = field(default=ABSENT, name="Input type")
    strides: Raw = field(default=ABSENT, name="Input Strides")
    concrete: Raw = field(default=ABSENT, name="Concrete Inputs")
    collective: Raw = field(default=ABSENT, name="Collective name")
    in_elements: Loose = field(default=NONE, name="In msg nelems")
    out_elements: Loose = field(default=NONE, name="Out msg nelems")
    element_type: Raw = field(default=ABSENT, name="dtype")
    group_size: Loose = field(default=NONE, name="Group size")
    waits_on_stream: Loose = field(default=NONE, name="wait_on_stream")
    event_correlation: Loose = field(default=NONE, name="wait_on_cuda_event_record_corr_id")
    label: Any = field(default=None, name="name")


NO_ARGUMENTS = Arguments()


class Event(Struct, gc=False):
    """One entry of ``traceEvents``; ``ts`` and ``dur`` in microseconds, NaN where absent."""

    ph: str = ""
    cat: str = ""
    name: str = ""
    pid: int | str = 0
    tid: int | str = 0
    ts: float = float("nan")
    dur: float = 0.0
    args: Arguments = NO_ARGUMENTS


class ExactEvent(Event):
    """An Event whose times are decimal: they were strings, or too large for a double."""

    ts: Decimal = Decimal("NaN")  # type: ignore[assignment]
    dur: Decimal = Decimal(0)  # type: ignore[assignment]


_KINDS = {"ph": (str,), "cat": (str,), "name": (str,), "pid": (int, str), "tid": (int, str)}


_BAD_BYTE = re.compile(r"\(byte (\d+)\)$")
_LARGE_FRACTION = re.compile(rb'"ts"\s*:\s*\d{13,}\.\d*[1-9]')


_ARGUMENT_FIELDS = msgspec.structs.fields(Arguments)


class NotEventsError(ValueError):
    """The bytes are not a run of JSON values.

    Attributes:
        is_incomplete: They are as far as they go: something is left open at their end.
        is_overlong: They are up to the end of the list, which lies in them.
    """

    def __init__(self, array: bytes, error: Exception) -> None:
        super().__init__(str(error))
        at = _BAD_BYTE.search(str(error))
        is_deep = isinstance(error, RecursionError)
        self.is_overlong = "trailing characters" in str(error)
        self.is_incomplete = not is_deep and (at is None or int(at.group(1)) >= len(array) - 1)


def _is_inexact(events: list[Event], text: bytes) -> bool:
    """Whether doubles dropped digits of the times: too large, and written with a fraction."""
    first = next((event.ts for event in events if event.ph == "X"), 0.0)
    return first >= EXACT_BELOW_US and _LARGE_FRACTION.search(text) is not None


def _untyped(entry: Raw) -> object:
    """An entry as plain values; None where a number in it is beyond every type."""
    try:
        return msgspec.json.decode(entry)
    except (msgspec.DecodeError, RecursionError):
        return None


def _rebuild(entry: object) -> ExactEvent | None:
    """An event from any JSON object, field by field; None if it is no object."""
    if not isinstance(entry, dict):
        return None
    event = ExactEvent()
    for name, kinds in _KINDS.items():
        value = entry.get(name)
        if isinstance(value, kinds) and not isinstance(value, bool):
            setattr(event, name, value)
    for name in ("ts", "dur"):
        if name in entry:
            try:
                setattr(event, name, Decimal(str(entry[name])))
            except ArithmeticError:
                setattr(event, name, Decimal("NaN"))
    event.args = _rebuild_arguments(entry.get("args"))
    return event


def _rebuild_arguments(args: object) -> Arguments:
    if not isinstance(args, dict):
        return NO_ARGUMENTS
    values: dict[str, Any] = {}
    for known in _ARGUMENT_FIELDS:
        value = args.get(known.encode_name)
        if value is None:
            continue
        if known.type is Raw:
            values[known.name] = Raw(msgspec.json.encode(value))
        elif known.type is Any or isinstance(value, (int, float, str)):
            values[known.name] = value
    return Arguments(**values)


class EventDecoder:
    """Decodes runs of comma-separated events, remembering the type that fitted last.

    Attributes:
        unusable: Entries that were valid JSON but no event.
    """

    def __init__(self) -> None:
        self._plain = msgspec.json.Decoder(list[Event])
        self._exact = msgspec.json.Decoder(list[ExactEvent], strict=False)
        self._entries = msgspec.json.Decoder(list[Raw])
        self._entry = msgspec.json.Decoder(ExactEvent, strict=False)
        self._prefers_exact = False
        self.unusable = 0

    def decode(self, text: bytes) -> list[Event]:
        """The events of ``text``; raises NotEventsError if it is no run of JSON values."""
        array = b"".join((b"[", text, b"]"))
        try:
            if not self._prefers_exact:
                events = self._plain.decode(array)
                if not _is_inexact(events, text):
                    return events
        except msgspec.ValidationError:
            pass
        except (msgspec.DecodeError, RecursionError) as error:
            raise NotEventsError(array, error) from error
        return self._decode_exactly(array)

    def _decode_exactly(self, array: bytes) -> list[Event]:
        try:
            events = self._exact.decode(array)
        except msgspec.ValidationError:
            return self._decode_one_by_one(array)
        except (msgspec.DecodeError, RecursionError) as error:
            raise NotEventsError(array, error) from error
        self._prefers_exact = True
        return list(events)

    def _decode_one_by_one(self, array: bytes) -> list[Event]:
        try:
            entries = self._entries.decode(array)
        except (msgspec.DecodeError, RecursionError) as error:
            raise NotEventsError(array, error) from error
        events = [event for entry in entries if (event := self._decode_entry(entry)) is not None]
        self.unusable += len(entries) - len(events)
        return list(events)

    def _decode_entry(self, entry: Raw) -> ExactEvent | None:
        try:
            return self._entry.decode(entry)
        except msgspec.ValidationError:
            return _rebuild(_untyped(entry))
