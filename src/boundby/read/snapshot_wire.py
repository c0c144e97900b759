"""How the child process hands a snapshot over: columns as bytes, nothing that could be code."""

from __future__ import annotations

import msgspec

Columns = dict[str, bytes]


class Refusal(msgspec.Struct, tag=True):
    """Why there is no snapshot, as the end of a sentence that starts with the file."""

    reason: str


class Wire(msgspec.Struct, tag=True):
    """A snapshot as bytes of little-endian columns.

    Attributes:
        histories: By device, columns of ``Events``.
        stacks: int32 frame indices, all stacks end to end; ``stack_ends`` int64 where each ends.
        counts: What was left out or mended, by finding.
    """

    raw_bytes: int
    histories: dict[int, Columns]
    segments: Columns
    blocks: Columns
    marks: Columns
    frames: list[tuple[str, int, str]]
    stacks: bytes
    stack_ends: bytes
    names: list[str]
    settings: dict[str, str | int | float | bool | None]
    counts: dict[str, int]
    unknown: list[str]


def encode(message: Wire | Refusal) -> bytes:
    """The message as bytes."""
    return msgspec.msgpack.encode(message)


def decode(raw: bytes) -> Wire | Refusal:
    """The message in the bytes, checked field by field.

    Raises:
        msgspec.DecodeError: The bytes are something else.
    """
    return msgspec.msgpack.decode(raw, type=Wire | Refusal)
