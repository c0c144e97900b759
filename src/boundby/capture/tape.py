"""The files of a running observation: a tape of rows that outlives the process, and notes."""

from __future__ import annotations

import errno
import itertools
import json
import mmap
import os
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any

from boundby.read.capture_folder import (
    COLUMNS,
    HEADER,
    MAGIC,
    NOTES,
    POINTERS,
    ROW_BYTES,
    SNAPSHOT,
    TAPE,
    TRACE,
)

FIRST_ROWS = 1 << 14
MOST_ROWS = 1 << 20
"""32 MB; what comes after is not written."""


class Tape:
    """Rows of four integers in a memory-mapped file.

    A row is written in about a microsecond (3 us as the first thing after a step of the program)
    and is in the page cache at once: it survives a kill of the process, though not a loss of power.
    The first pages are written to before the first row, which then costs no fault. Threads take
    their rows from one counter and need no lock; the kind is written last and completes a row.
    Signal handlers and callbacks of the garbage collector must not write: they may run while the
    tape grows.

    Attributes:
        is_full: Whether rows are dropped by now: the tape, or the disk, has no more room.
    """

    def __init__(self, file: Path) -> None:
        self.is_full = False
        self._is_left = False
        self._rows = FIRST_ROWS
        self._take = itertools.count(0, COLUMNS).__next__
        self._file = os.open(file, os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o644)
        self._inode = os.fstat(self._file).st_ino
        room = self._grown()
        room[:] = MAGIC + bytes(len(room) - len(MAGIC))
        self._cells = cells_of(room)
        self._growing = threading.Lock()

    def guard(self) -> bool:
        """Leave a file that was cut short, as by a program that tidies up: a map of it kills.

        Called at each step mark, not at each row: it is a system call. A program may have closed
        every file and opened its own under our number.

        Returns:
            Whether it was cut since the last call.
        """
        if self._is_left:
            return False
        try:
            found = os.fstat(self._file)
        except OSError:
            return False
        size = len(MAGIC) + self._rows * ROW_BYTES
        self._is_left = found.st_ino == self._inode and found.st_size < size
        return self._is_left

    def put(self, kind: int, time: int, a: int, b: int) -> None:
        """Append a row; nothing once the tape is full or left."""
        if self._is_left:
            return
        at, cells = self._take(), self._cells
        if at >= len(cells):
            cells = self._longer(at)
            if at >= len(cells):
                return
        cells[at + 1], cells[at + 2], cells[at + 3] = time, a, b
        cells[at] = kind

    def leave(self) -> None:
        """Write no more, as in a forked child: the map is shared, and the parent goes on."""
        self._is_left = True

    def _longer(self, at: int) -> memoryview[int]:
        """Cells with this one among them, if there is room for so many."""
        with self._growing:
            while at >= len(self._cells) and not self.is_full:
                self._grow()
            return self._cells

    def _grow(self) -> None:
        if self._rows >= MOST_ROWS:
            self.is_full = True
            return
        self._rows *= 4
        try:
            self._cells = cells_of(self._grown())
        except OSError:
            self.is_full = True

    def _grown(self) -> mmap.mmap:
        size = len(MAGIC) + self._rows * ROW_BYTES
        reserve(self._file, size)
        return mmap.mmap(self._file, size)


def cells_of(room: mmap.mmap) -> memoryview[int]:
    """What follows the magic word, as integers of eight bytes."""
    return memoryview(room)[len(MAGIC) :].cast("q")


def reserve(file: int, size: int) -> None:
    """Make a file that large with room for all of it: a map of a file without kills its writer.

    Raises:
        OSError: There is no room.
    """
    try:
        os.posix_fallocate(file, 0, size)
    except AttributeError:  # not on this system
        os.ftruncate(file, size)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.EOPNOTSUPP):  # not on this file system
            raise
        os.ftruncate(file, size)


class RunFolder:
    """The folder of one process; what another has left there goes."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        for name in (HEADER, TRACE, SNAPSHOT, POINTERS, TAPE, NOTES):  # another may still write
            (folder / name).unlink(missing_ok=True)
        self.path = folder
        self.tape = Tape(folder / TAPE)
        opened = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND | os.O_CLOEXEC
        self._notes = os.open(folder / NOTES, opened, 0o644)
        self._is_left = False

    def leave(self) -> None:
        """Write no more, as in a forked child."""
        self._is_left = True
        self.tape.leave()

    def describe(self, header: dict[str, Any]) -> None:
        """Write the header; whole or not at all."""
        aside = self.path / f".{HEADER}"
        aside.write_text(json.dumps(header), "utf-8")
        aside.replace(self.path / HEADER)

    def note(self, note: str, /, **values: Any) -> None:  # noqa: ANN401 -- whatever JSON holds
        """Append one note, with the file system's promise that lines do not mix.

        Lost where the disk is full: notes are written amid the program's own work.
        """
        if self._is_left:
            return
        line = json.dumps({"note": note, **values}, default=str) + "\n"
        with suppress(OSError):
            os.write(self._notes, line.encode("utf-8", "backslashreplace"))
