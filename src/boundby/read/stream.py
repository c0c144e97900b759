"""The bytes of a file, plain or gzip, in pieces; broken compression is told, not raised."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import BinaryIO, Protocol, cast

from boundby.errors import UnreadableError

PIECE_BYTES = 1 << 20
COMPRESSED_BYTES = 1 << 16
"""Small, since this much is read again, byte by byte, when the compressed bytes are damaged."""
GZIP_MAGIC = b"\x1f\x8b"
_GZIP_WINDOW = 31


def regular_file(path: Path, hint: str) -> Path:
    """The same path where a file is there that can be read twice.

    Raises:
        UnreadableError: There is none: nothing at all, a folder, a pipe, a device.
    """
    try:
        if path.is_file():
            return path
        if not path.exists():
            raise UnreadableError(f"{path}: no such file", hint)
        if path.is_dir():
            raise UnreadableError(f"{path}: a folder and no file", hint)
    except OSError as error:
        raise UnreadableError(f"{path}: cannot read: {error.strerror}", hint) from error
    raise UnreadableError(
        f"{path}: a pipe or a device and no file", "write what comes from it to a file first"
    )


Watcher = Callable[[int, int], None]
"""Told how many bytes of a file are read, and how many it has."""
_watcher: ContextVar[Watcher | None] = ContextVar("watcher", default=None)


@contextmanager
def watched(watcher: Watcher) -> Iterator[None]:
    """Tell someone how far files are read inside the block."""
    token = _watcher.set(watcher)
    try:
        yield
    finally:
        _watcher.reset(token)


class _Inflater(Protocol):
    @property
    def eof(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    @property
    def unconsumed_tail(self) -> bytes: ...
    def decompress(self, data: bytes, max_length: int, /) -> bytes: ...


def _inflaters() -> tuple[Callable[[], _Inflater], tuple[type[Exception], ...]]:
    try:
        from isal import isal_zlib  # noqa: PLC0415 - optional, about 3x faster than zlib
    except ImportError:
        return lambda: cast("_Inflater", zlib.decompressobj(_GZIP_WINDOW)), (zlib.error,)
    return (
        lambda: cast("_Inflater", isal_zlib.decompressobj(wbits=_GZIP_WINDOW)),
        (cast("type[Exception]", isal_zlib.error), zlib.error),
    )


class Pieces:
    """An iterator over the content of a file in pieces of at most ``piece_bytes``.

    Attributes:
        cut_short: The compressed stream ended early or broke; what came before it was delivered.
    """

    def __init__(self, path: Path, piece_bytes: int = PIECE_BYTES) -> None:
        self._path = path
        self._piece_bytes = piece_bytes
        self.cut_short = False

    def __iter__(self) -> Iterator[bytes]:
        with self._path.open("rb") as file:
            compressed = file.read(len(GZIP_MAGIC)) == GZIP_MAGIC
            file.seek(0)
            step = COMPRESSED_BYTES if compressed else self._piece_bytes
            blocks = _told(iter(lambda: file.read(step), b""), self._path)
            yield from self._inflate(file, blocks) if compressed else blocks

    def _inflate(self, file: BinaryIO, blocks: Iterator[bytes]) -> Iterator[bytes]:
        new_inflater, errors = _inflaters()
        inflater: _Inflater | None = None
        begin = given = 0
        for block in blocks:
            data = block
            while data:
                if inflater is None:
                    if not data.startswith(GZIP_MAGIC[: len(data)]):
                        return  # Padding after the last member is legal.
                    inflater = new_inflater()
                    begin, given = file.tell() - len(data), 0
                try:
                    out = inflater.decompress(data, self._piece_bytes)
                except errors:
                    self.cut_short = True
                    yield from self._before_damage(file, begin, given)
                    return
                if out:
                    given += len(out)
                    yield out
                if inflater.eof:
                    data, inflater = inflater.unused_data, None
                else:
                    data = inflater.unconsumed_tail
        self.cut_short = inflater is not None

    def _before_damage(self, file: BinaryIO, begin: int, given: int) -> Iterator[bytes]:
        """What a member that begins at ``begin`` holds before its damage, but what was given.

        An inflater gives nothing of a call that fails, so near the end it is fed byte by byte.
        """
        damaged = file.tell()
        file.seek(begin)
        inflater = zlib.decompressobj(_GZIP_WINDOW)
        rest = bytearray()
        try:
            while file.tell() < damaged:
                is_near = damaged - file.tell() <= COMPRESSED_BYTES
                data = file.read(1 if is_near else min(COMPRESSED_BYTES, damaged - file.tell()))
                while data and not inflater.eof:
                    out = inflater.decompress(data, self._piece_bytes)
                    data = inflater.unconsumed_tail
                    skipped = min(given, len(out))
                    given -= skipped
                    rest += out[skipped:]
                    if len(rest) >= self._piece_bytes:
                        yield bytes(rest[: self._piece_bytes])
                        del rest[: self._piece_bytes]
        except zlib.error:
            pass
        if rest:
            yield bytes(rest)


def _told(blocks: Iterator[bytes], path: Path) -> Iterator[bytes]:
    """The same blocks; whoever watches is told of each, and at the end that all is read."""
    watcher = _watcher.get()
    if watcher is None:
        yield from blocks
        return
    done, size = 0, path.stat().st_size
    for block in blocks:
        done += len(block)
        yield block
        watcher(min(done, size - 1), size)
    watcher(size, size)
