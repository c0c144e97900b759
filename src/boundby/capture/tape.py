"""The files of a running observation: a tape of rows that outlives the process, and notes."""

from __future__ import annotations

import json
import mmap
import os
import struct
import threading
from pathlib import Path
from typing import Any

from boundby.read.capture_folder import HEADER, MAGIC, NOTES, ROW_BYTES, TAPE

PUT = struct.Struct("<qqqq").pack_into
FIRST_ROWS = 1 << 14
MOST_ROWS = 1 << 20
"""32 MB; what comes after is not written."""


class Tape:
    """Rows of four integers in a memory-mapped file.

    A row is written in about a microsecond and is in the page cache at once: it survives a kill of
    the process, though not a loss of power. The first pages are mapped before the first row, which
    then costs no fault (Linux). Signal handlers and callbacks of the garbage collector must not
    write: they may run in the middle of a write.
    """

    def __init__(self, file: Path) -> None:
        self._rows = FIRST_ROWS
        self._at = len(MAGIC)
        self._file = os.open(file, os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o644)
        self._map = self._grown()
        self._map[: len(MAGIC)] = MAGIC
        self._lock = threading.Lock()

    def put(self, kind: int, time: int, a: int, b: int) -> None:
        """Append a row; nothing once the tape is full."""
        with self._lock:
            if self._at + ROW_BYTES > len(self._map) and not self._grow():
                return
            PUT(self._map, self._at, kind, time, a, b)
            self._at += ROW_BYTES

    def _grow(self) -> bool:
        if self._rows >= MOST_ROWS:
            return False
        self._rows *= 4
        self._map = self._grown()
        return True

    def _grown(self) -> mmap.mmap:
        size = len(MAGIC) + self._rows * ROW_BYTES
        os.ftruncate(self._file, size)
        first = self._rows == FIRST_ROWS and hasattr(mmap, "MAP_POPULATE")
        there = {"flags": mmap.MAP_SHARED | mmap.MAP_POPULATE} if first else {}
        return mmap.mmap(self._file, size, **there)


class RunFolder:
    """The folder of one process."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.path = folder
        self.tape = Tape(folder / TAPE)
        self._notes = os.open(
            folder / NOTES, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644
        )

    def describe(self, header: dict[str, Any]) -> None:
        """Write the header; whole or not at all."""
        aside = self.path / f".{HEADER}"
        aside.write_text(json.dumps(header), "utf-8")
        aside.replace(self.path / HEADER)

    def note(self, note: str, /, **values: Any) -> None:  # noqa: ANN401 -- whatever JSON holds
        """Append one note, with the file system's promise that lines do not mix."""
        line = json.dumps({"note": note, **values}, default=str) + "\n"
        os.write(self._notes, line.encode("utf-8", "backslashreplace"))
