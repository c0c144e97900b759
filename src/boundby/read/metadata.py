"""What a Kineto file says about itself around its events: devices, rank, versions, flags.

Only the keys named here are decoded. Everything else may hold environment variables, user or host
names and is skipped unread.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec

from boundby.frozen import frozen
from boundby.read.lexical import Member, members
from boundby.read.recording import Device
from boundby.read.repair import mend

KEYS = frozenset(
    {
        b"baseTimeNanoseconds",
        b"cuda_runtime_version",
        b"deviceProperties",
        b"distributedInfo",
        b"hip_runtime_version",
        b"record_shapes",
        b"with_stack",
    }
)
_KNOWN_KEY = re.compile(rb'"(?:%s)"\s*:' % b"|".join(sorted(KEYS)))
_RANK_IN_NAME = (
    re.compile(r"rank[-_. ]?(\d+)", re.IGNORECASE),
    re.compile(r"worker[-_. ]?(\d+)", re.IGNORECASE),
    re.compile(r"(?:^|[-_.])r(\d+)(?=[-_.]|$)", re.IGNORECASE),
)
_HIP_MAJOR = 10_000_000
_HIP_MINOR = 100_000


@frozen
class Metadata:
    """The known members of a file; unknown is None.

    Attributes:
        base_ns: Nanoseconds to add to every time for the recorder's clock.
        cuda, hip: Runtime versions such as ``13.0``.
    """

    base_ns: int = 0
    cuda: str | None = None
    hip: str | None = None
    rank: int | None = None
    world_size: int | None = None
    record_shapes: bool | None = None
    with_stack: bool | None = None
    devices: tuple[Device, ...] = ()


def read_metadata(head: bytes, tail: bytes) -> Metadata:
    """The known members before (``head``, from ``{``) and after (``tail``) the list of events."""
    values = dict([*_values(head, 1), *_values(tail, 0)])
    distributed = values.get(b"distributedInfo")
    if not isinstance(distributed, dict):
        distributed = {}
    return Metadata(
        base_ns=_whole(values.get(b"baseTimeNanoseconds")) or 0,
        cuda=_cuda_version(values.get(b"cuda_runtime_version")),
        hip=_hip_version(values.get(b"hip_runtime_version")),
        rank=_whole(distributed.get("rank")),
        world_size=_whole(distributed.get("world_size")),
        record_shapes=_flag(values.get(b"record_shapes")),
        with_stack=_flag(values.get(b"with_stack")),
        devices=_devices(values.get(b"deviceProperties")),
    )


def _values(text: bytes, start: int) -> Iterator[tuple[bytes, object]]:
    for member in _known_members(text, start):
        value, _ = mend(text[member.start : member.end])
        try:
            yield member.key, msgspec.json.decode(value)
        except (msgspec.DecodeError, RecursionError):
            continue


def _known_members(text: bytes, start: int) -> Iterator[Member]:
    """The complete members under known keys; behind what is no JSON from the next such key on."""
    while True:
        for member in members(text, start):
            start = len(text) if member.end is None else member.end
            if member.key in KEYS and member.end is not None:
                yield member
        next_key = _KNOWN_KEY.search(text, start)
        if next_key is None:
            return
        start = next_key.start()


def _whole(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _amount(value: object) -> int:
    """A count of something a device has; 0, unknown, for what can be none."""
    return max(_whole(value) or 0, 0)


def _flag(value: object) -> bool | None:
    return None if value is None else bool(value)


def _cuda_version(value: object) -> str | None:
    """12090 as ``12.9``; None for what is no version number."""
    number = _whole(value)
    return None if not number else f"{number // 1000}.{number % 1000 // 10}"


def _hip_version(value: object) -> str | None:
    """60241134 as ``6.2``: HIP writes the major number, two digits of minor, five of patch."""
    number = _whole(value)
    return None if not number else f"{number // _HIP_MAJOR}.{number // _HIP_MINOR % 100}"


def _devices(value: object) -> tuple[Device, ...]:
    entries = value if isinstance(value, list) else []
    return tuple(
        Device(
            id=number,
            name=str(entry.get("name") or ""),
            memory_bytes=_amount(entry.get("totalGlobalMem")),
            multiprocessors=_amount(entry.get("numSms")),
        )
        for entry in entries
        if isinstance(entry, dict) and (number := _whole(entry.get("id"))) is not None
    )


def rank_in_name(name: str) -> int | None:
    """The rank a file name tells (``rank-3``, ``rank3``, ``worker3``, ``r3``), or None."""
    for pattern in _RANK_IN_NAME:
        if match := pattern.search(name):
            return int(match.group(1))
    return None
