"""Events become rows of columns: the inner loop of reading, kept to list comprehensions."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import msgspec
import numpy as np

from boundby.read.columns import Array, GrowingTable, Interner, integers
from boundby.read.events import ABSENT, Arguments, Event, ExactEvent, Loose
from boundby.read.recording import NONE, DeviceKind, HostKind, Ints, Signature
from boundby.units import NS_PER_US

Buffer = bytes | msgspec.Raw
LATEST_US = 9.0e15
"""Times beyond this do not fit into int64 nanoseconds; no clock shows them (year 2255)."""
LONGEST_NS = 24 * 3600 * 10**9
"""An event of more than a day is damage; sums of a hundred thousand such still fit into int64."""
MAX_SIGNATURES = 500_000
MAX_SIGNATURE_BYTES = 64 << 20
UNSIGNED_NONE = 0xFFFFFFFF
"""How some producers write a stream of -1."""
_NUMBER = re.compile(r"[0-9]{1,18}")

HOST_COLUMNS: dict[str, type[np.generic]] = {
    "start": np.int64,
    "dur": np.int64,
    "name": np.int32,
    "kind": np.int8,
    "thread": np.int32,
    "correlation": np.int64,
    "external": np.int64,
    "sequence": np.int64,
    "signature": np.int32,
}
DEVICE_COLUMNS: dict[str, type[np.generic]] = {
    "start": np.int64,
    "dur": np.int64,
    "name": np.int32,
    "kind": np.int8,
    "device": np.int32,
    "stream": np.int64,
    "correlation": np.int64,
    "external": np.int64,
    "size": np.int64,
    "blocks": np.int64,
    "threads": np.int32,
    "signature": np.int32,
}
PYTHON_COLUMNS: dict[str, type[np.generic]] = {
    "start": np.int64,
    "dur": np.int64,
    "name": np.int32,
    "thread": np.int32,
    "python_id": np.int64,
}
WAIT_COLUMNS: dict[str, type[np.generic]] = {
    "start": np.int64,
    "dur": np.int64,
    "name": np.int32,
    "stream": np.int64,
    "on_stream": np.int64,
    "correlation": np.int64,
    "event_correlation": np.int64,
}


class Threads(dict[tuple[int | str, int | str], int]):
    """Numbers threads by process and thread id; 7 and "7" are the same id."""

    def __init__(self) -> None:
        super().__init__()
        self.ids = Interner()

    def __missing__(self, key: tuple[int | str, int | str]) -> int:
        number = self.ids[str(key[0]), str(key[1])]
        self[key] = number
        return number


class Signatures:
    """Distinct operator arguments as raw JSON, up to a bound.

    Attributes:
        values: The signatures in order of their number.
        refused: Rows whose signature came after the bound and was not kept.
    """

    def __init__(self) -> None:
        self._numbers: dict[tuple[bytes, bytes, bytes, bytes], int] = {}
        self._bytes = 0
        self.values: list[Signature] = []
        self.refused = 0

    def number(self, dims: Buffer, types: Buffer, strides: Buffer, concrete: Buffer) -> int:
        """The number of a signature given as four buffers of JSON."""
        key = (bytes(dims), bytes(types), bytes(strides), bytes(concrete))
        number = self._numbers.get(key)
        return self._add(key) if number is None else number

    def _add(self, key: tuple[bytes, bytes, bytes, bytes]) -> int:
        size = sum(map(len, key))
        if len(self.values) >= MAX_SIGNATURES or self._bytes + size > MAX_SIGNATURE_BYTES:
            self.refused += 1
            return NONE
        self._bytes += size
        self.values.append(Signature(*key))
        number = self._numbers[key] = len(self.values) - 1
        return number


def decimal_ns(value: Decimal | float) -> int | None:
    """Microseconds as whole nanoseconds; None for NaN and what no clock shows."""
    try:
        exact = Decimal(value)
        if not abs(exact) < Decimal(LATEST_US):
            return None
        return int((exact * NS_PER_US).to_integral_value())
    except (ArithmeticError, TypeError, ValueError):
        return None


def _float_ns(values: Sequence[float]) -> tuple[Ints, Array]:
    times = np.array(values, dtype=np.float64)
    good = np.abs(times) < LATEST_US
    times[~good] = 0.0
    whole = np.floor(times)
    ns = whole.astype(np.int64) * NS_PER_US
    ns += np.rint((times - whole) * NS_PER_US).astype(np.int64)
    return ns, good


def _nanoseconds(values: Sequence[Any]) -> tuple[Ints, Array]:
    """int64 ns of microseconds, and which of them are times at all."""
    if not isinstance(values[0], Decimal):
        return _float_ns(values)
    exact = [decimal_ns(value) for value in values]
    good = np.array([value is not None for value in exact])
    return np.array([value or 0 for value in exact], dtype=np.int64), good


def timed(events: list[Event]) -> tuple[list[Event], Ints, Ints]:
    """The events with a usable time, their starts and durations in int64 ns."""
    start, starts_well = _nanoseconds([event.ts for event in events])
    dur, lasts_well = _nanoseconds([event.dur for event in events])
    good = starts_well & lasts_well & (dur >= 0) & (dur <= LONGEST_NS)
    if good.all():
        return events, start, dur
    kept = [event for event, keep in zip(events, good, strict=True) if keep]
    return kept, start[good], dur[good]


def _known(values: Ints) -> Ints:
    """Ids, where 0 is how a producer writes none."""
    values[values == 0] = NONE
    return values


def _external(arguments: list[Arguments]) -> Ints:
    ids = integers([a.external for a in arguments])
    missing = np.flatnonzero(ids == NONE)
    if len(missing):
        ids[missing] = integers([arguments[row].external_2021 for row in missing])
    return _known(ids)


def _product(shape: object) -> int:
    """Product of a grid or block; NONE where it is not written as a list of integers."""
    if not isinstance(shape, list):
        return NONE
    try:
        product: object = math.prod(shape)
    except TypeError:
        return NONE
    return product if isinstance(product, int) else NONE


def _stream_of(event: Event) -> Loose:
    """The stream of a device row, else the number in its thread id (``stream 7``)."""
    if event.args.stream not in (NONE, None):
        return event.args.stream
    match = _NUMBER.search(str(event.tid))
    return int(match.group()) if match else NONE


class RowBuilder:
    """Turns groups of events into rows of the four tables.

    Attributes:
        untimed: Events dropped for want of a usable start or duration.
    """

    def __init__(self) -> None:
        self.names = Interner()
        self.threads = Threads()
        self.signatures = Signatures()
        self.host = GrowingTable(HOST_COLUMNS)
        self.device = GrowingTable(DEVICE_COLUMNS)
        self.python = GrowingTable(PYTHON_COLUMNS)
        self.waits = GrowingTable(WAIT_COLUMNS)
        self.untimed = 0

    def _timed(self, events: list[Event]) -> tuple[list[Event], dict[str, Array]]:
        kept, start, dur = timed(events)
        self.untimed += len(events) - len(kept)
        names = self.names
        name = np.array([names[event.name] for event in kept], dtype=np.int32)
        return kept, {"start": start, "dur": dur, "name": name}

    def _thread(self, events: list[Event]) -> Array:
        threads = self.threads
        return np.array([threads[event.pid, event.tid] for event in events], dtype=np.int32)

    def _op_signatures(self, arguments: list[Arguments]) -> Array:
        number = self.signatures.number
        return np.array(
            [
                number(
                    a.dims if a.dims is not ABSENT else a.dims_2021, a.types, a.strides, a.concrete
                )
                if a.types is not ABSENT or a.dims is not ABSENT
                else NONE
                for a in arguments
            ],
            dtype=np.int32,
        )

    def add_host(self, events: list[Event], kind: HostKind) -> None:
        """Rows of operators, calls, ranges or profiler overhead."""
        events, columns = self._timed(events)
        arguments = [event.args for event in events]
        none = np.full(len(events), NONE, dtype=np.int64)
        is_op, is_call = kind is HostKind.OP, kind is HostKind.CALL
        columns["kind"] = np.full(len(events), kind, dtype=np.int8)
        columns["thread"] = self._thread(events)
        columns["external"] = _external(arguments)
        columns["correlation"] = (
            _known(integers([a.correlation for a in arguments])) if is_call else none
        )
        columns["sequence"] = integers([a.sequence for a in arguments]) if is_op else none
        columns["signature"] = self._op_signatures(arguments) if is_op else none
        self.host.append(columns)

    def add_python(self, events: list[Event]) -> None:
        """Rows of Python frames."""
        events, columns = self._timed(events)
        columns["thread"] = self._thread(events)
        columns["python_id"] = integers([event.args.python_id for event in events])
        self.python.append(columns)

    def add_device(self, events: list[Event], kind: DeviceKind) -> None:
        """Rows of kernels, copies or memsets."""
        events, columns = self._timed(events)
        arguments = [event.args for event in events]
        is_kernel = kind is DeviceKind.KERNEL
        none = np.full(len(events), NONE, dtype=np.int64)
        columns["kind"] = np.full(len(events), kind, dtype=np.int8)
        columns["stream"] = integers([_stream_of(event) for event in events])
        device = integers([a.device for a in arguments])
        if (device == NONE).any():
            device = np.where(
                device == NONE, np.maximum(integers([e.pid for e in events]), 0), device
            )
        columns["device"] = device
        columns["correlation"] = _known(integers([a.correlation for a in arguments]))
        columns["external"] = _external(arguments)
        columns["size"] = none if is_kernel else integers([a.bytes for a in arguments])
        columns["blocks"] = integers([_product(a.grid) for a in arguments]) if is_kernel else none
        columns["threads"] = integers([_product(a.block) for a in arguments]) if is_kernel else none
        columns["signature"] = self._collectives(arguments) if is_kernel else none
        self.device.append(columns)

    def _collectives(self, arguments: list[Arguments]) -> Array:
        signatures = np.full(len(arguments), NONE, dtype=np.int32)
        for row, a in enumerate(arguments):
            if a.collective is not ABSENT:
                signatures[row] = self.signatures.number(
                    b"[[%d], [%d]]" % tuple(integers([a.in_elements, a.out_elements])),
                    b"[%s]" % bytes(a.element_type),
                    b"",
                    b"[%s, %d]" % (bytes(a.collective), integers([a.group_size])[0]),
                )
        return signatures

    def add_waits(self, events: list[Event]) -> None:
        """Rows of recorded waits."""
        events, columns = self._timed(events)
        arguments = [event.args for event in events]
        columns["stream"] = _stream_or_none([a.stream for a in arguments])
        columns["on_stream"] = _stream_or_none([a.waits_on_stream for a in arguments])
        columns["correlation"] = _known(integers([a.correlation for a in arguments]))
        columns["event_correlation"] = _known(integers([a.event_correlation for a in arguments]))
        self.waits.append(columns)

    def add_pairs(self, events: list[Event]) -> list[Event]:
        """Complete events from begin and end events, paired per thread as a stack."""
        stacks: dict[int, list[tuple[Event, int]]] = {}
        complete: list[Event] = []
        dated = [(at, event) for event in events if (at := decimal_ns(event.ts)) is not None]
        self.untimed += len(events) - len(dated)
        for at, event in sorted(dated, key=lambda pair: pair[0]):
            stack = stacks.setdefault(self.threads[event.pid, event.tid], [])
            if event.ph == "B":
                stack.append((event, at))
            elif stack:
                begun, since = stack.pop()
                complete.append(_completed(begun, since, at))
            else:
                self.untimed += 1
        self.untimed += sum(map(len, stacks.values()))
        return complete


def _completed(begun: Event, since: int, until: int) -> ExactEvent:
    return ExactEvent(
        ph="X",
        cat=begun.cat,
        name=begun.name,
        pid=begun.pid,
        tid=begun.tid,
        ts=Decimal(since) / NS_PER_US,
        dur=Decimal(until - since) / NS_PER_US,
        args=begun.args,
    )


def _stream_or_none(values: list[Any]) -> Ints:
    streams = integers(values)
    streams[streams == UNSIGNED_NONE] = NONE
    return streams
