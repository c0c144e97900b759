"""The bytes of a file, plain or gzip, in pieces; broken compression is told, not raised."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Protocol, cast

PIECE_BYTES = 1 << 20
COMPRESSED_BYTES = 1 << 16
"""Small, since the output of one step is lost when the compressed bytes turn out damaged."""
GZIP_MAGIC = b"\x1f\x8b"
_GZIP_WINDOW = 31


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
            raw = _told(iter(lambda: file.read(step), b""), self._path)
            yield from self._inflate(raw) if compressed else raw

    def _inflate(self, raw: Iterator[bytes]) -> Iterator[bytes]:
        new_inflater, errors = _inflaters()
        inflater: _Inflater | None = None
        for block in raw:
            data = block
            while data:
                if inflater is None:
                    if not data.startswith(GZIP_MAGIC[: len(data)]):
                        return  # Padding after the last member is legal.
                    inflater = new_inflater()
                try:
                    out = inflater.decompress(data, self._piece_bytes)
                except errors:
                    self.cut_short = True
                    return
                if out:
                    yield out
                if inflater.eof:
                    data, inflater = inflater.unused_data, None
                else:
                    data = inflater.unconsumed_tail
        self.cut_short = inflater is not None


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
