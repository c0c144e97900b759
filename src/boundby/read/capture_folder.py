"""The folder that a live run writes: its format, and how it is read back.

- ``run.json``: what ran and how; written when the first step is seen.
- ``tape.bin``: step marks, samples and waits, rows of four int64 in a memory-mapped file, so that
  what was written outlives the process that wrote it, however that ends.
- ``notes.jsonl``: one JSON object a line; a torn last line is dropped.
- ``trace.json``: the window of the profiler, there once it was exported.
- ``snapshot.pickle``: the device's memory, on request, on a sign of trouble, or when it ran out;
  ``pointers.json`` beside it names what modules and optimizers hold.
- ``host.json``: readings of the host's memory, by the process that started the program; beside the
  folders of its processes.

Times are ns of one monotonic clock (``time.perf_counter_ns``) of the observed process.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import IntEnum
from pathlib import Path
from typing import Any

import numpy as np

from boundby.errors import UnreadableError
from boundby.frozen import frozen
from boundby.read.recording import Ints

HEADER = "run.json"
TAPE = "tape.bin"
NOTES = "notes.jsonl"
TRACE = "trace.json"
SNAPSHOT = "snapshot.pickle"
POINTERS = "pointers.json"
HOST = "host.json"
MAGIC = b"boundby1"
SETTLING = 2
"""Steps at the start of a pass that still feel the one before."""
COLUMNS = 4
ROW_BYTES = 8 * COLUMNS

Note = Mapping[str, Any]


class Row(IntEnum):
    """What a row of the tape says; the row is (kind, time, a, b). Kind 0 ends the tape."""

    PASS = 1
    """A pass begins: a pass id, b frames compiled so far."""
    STEP = 2
    """A step ends: a its number, b pass id."""
    DEVICE = 3
    """Device events at two marks were ``b`` ns a step apart; a is the number of the later step."""
    SUBMIT = 4
    """A drained step: the host took a ns to return; b pass id."""
    LOADER = 5
    """A loader was asked: a ns it took, b twice its number, odd for the first of an epoch."""
    EPOCH = 6
    """A loader was started: a ns it took, b its number."""
    SAMPLE = 7
    """The submitting thread was seen: a stack id, b ns it stands for."""
    WAIT = 8
    """The host waited, or would with a device: a stack id, b index into ``WAITS``."""
    COLLECTION = 9
    """The garbage collector ran: a ns, b generation."""
    END = 10
    """A pass ended: a pass id, b frames compiled so far."""


WAITS = ("item", "host-copy", "data-dependent-shape", "explicit-sync", "other")
"""Kinds of wait, by the index that a WAIT row holds."""


@frozen
class Frame:
    """A frame of a stack, at the line that was running."""

    file: str
    line: int
    function: str
    first_line: int


@frozen
class Pass:
    """One pass over consecutive steps.

    Attributes:
        start, end: ns; the last mark where the pass was cut short.
        marks: ns of each step's end inside it.
        frames: Compiled frames at its start and end.
        complete: Whether it ended as planned.
    """

    id: int
    name: str
    start: int
    end: int
    marks: Ints
    frames: tuple[int, int]
    complete: bool

    @property
    def intervals(self) -> Ints:
        """int64 ns of each step."""
        return np.diff(self.marks, prepend=self.start) if len(self.marks) else self.marks


@frozen
class Capture:
    """What one process wrote.

    Attributes:
        header: ``run.json``.
        rows: int64[n, 4], the tape.
        stacks: Stacks by id, innermost frame first.
    """

    folder: Path
    header: Note
    notes: tuple[Note, ...]
    rows: Ints
    passes: tuple[Pass, ...]
    stacks: Mapping[int, tuple[Frame, ...]]

    def of(self, kind: Row) -> Ints:
        """int64[m, 3]: time, a, b of the rows of one kind."""
        return self.rows[self.rows[:, 0] == kind, 1:]

    def noted(self, name: str) -> Iterator[Note]:
        """Notes of one kind, as written."""
        return (note for note in self.notes if note.get("note") == name)

    def last(self, name: str) -> Note | None:
        """The latest note of a kind; None where there is none."""
        return next((n for n in reversed(self.notes) if n.get("note") == name), None)

    def named(self, name: str) -> tuple[Pass, ...]:
        """Passes of one name."""
        return tuple(each for each in self.passes if each.name == name)

    @property
    def trace(self) -> Path | None:
        """The exported window; None where the profiler did not get that far."""
        file = self.folder / TRACE
        return file if file.is_file() else None


def is_capture(folder: Path) -> bool:
    """Whether a folder was written by a live run."""
    return (folder / HEADER).is_file() and (folder / TAPE).is_file()


def captures_in(folder: Path) -> tuple[Path, ...]:
    """Folders of the processes of one run: by rank, then by number of steps, most first."""
    found = [folder] if is_capture(folder) else [f for f in folder.glob("*") if is_capture(f)]
    return tuple(sorted(found, key=_order))


def read_capture(folder: Path) -> Capture:
    """What one process wrote, as far as it got.

    Raises:
        UnreadableError: The folder holds no run, or one of another version.
    """
    try:
        header = _header(folder)
        rows = _rows(folder / TAPE)
    except (OSError, ValueError) as error:
        raise UnreadableError(f"{folder} holds no run", "boundby run SCRIPT writes one") from error
    notes = tuple(_notes(folder / NOTES))
    stacks = {
        int(note["id"]): tuple(Frame(*frame) for frame in note["frames"])
        for note in notes
        if note.get("note") == "stack"
    }
    return Capture(folder, header, notes, rows, tuple(_passes(rows, notes)), stacks)


@frozen
class SoFar:
    """How far the observation of a running program is.

    Attributes:
        steps: Steps seen.
        pass_name: The pass at work; empty before the first and after the last.
        done: Steps of it that are done.
        planned: Steps it is to have; 0 where unknown.
    """

    steps: int
    pass_name: str
    done: int
    planned: int


def read_so_far(folder: Path) -> SoFar | None:
    """How far a running process is; None where it has not begun."""
    try:
        rows = _rows(folder / TAPE)
    except (OSError, ValueError):
        return None
    steps = rows[rows[:, 0] == Row.STEP]
    begun, ended = (rows[rows[:, 0] == kind] for kind in (Row.PASS, Row.END))
    seen = int(steps[-1, 2]) if len(steps) else 0
    if not len(begun) or int(begun[-1, 2]) in ended[:, 2]:
        return SoFar(seen, "", 0, 0)
    number = int(begun[-1, 2])
    notes = [n for n in _notes(folder / NOTES) if n.get("note") == "pass" and n["id"] == number]
    planned = notes[-1].get("steps") if notes else None
    return SoFar(
        steps=seen,
        pass_name=str(notes[-1]["name"]) if notes else "",
        done=int((steps[:, 3] == number).sum()),
        planned=planned if isinstance(planned, int) else 0,
    )


def _order(folder: Path) -> tuple[int, int, str]:
    try:
        header = _header(folder)
        steps = int((_rows(folder / TAPE)[:, 0] == Row.STEP).sum())
    except (OSError, ValueError):
        return 1 << 30, 0, folder.name
    rank = header.get("rank")
    return rank if isinstance(rank, int) else 0, -steps, folder.name


def _rows(file: Path) -> Ints:
    """Rows up to the first empty one."""
    raw = file.read_bytes()
    if raw[: len(MAGIC)] != MAGIC:
        raise ValueError("no tape")
    whole = (len(raw) - len(MAGIC)) // ROW_BYTES * ROW_BYTES
    table = np.frombuffer(raw, "<i8", whole // 8, len(MAGIC)).reshape(-1, COLUMNS)
    empty = np.flatnonzero(table[:, 0] == 0)
    return table[: empty[0]] if len(empty) else table


def _header(folder: Path) -> Note:
    from boundby.read.capture_notes import header_in  # noqa: PLC0415 -- not where a program runs

    return header_in((folder / HEADER).read_bytes())


def _notes(file: Path) -> Iterator[Note]:
    from boundby.read.capture_notes import notes_in  # noqa: PLC0415 -- not where a program runs

    return notes_in(file.read_bytes()) if file.is_file() else iter(())


def _passes(rows: Ints, notes: tuple[Note, ...]) -> Iterator[Pass]:
    names = {note["id"]: note["name"] for note in notes if note.get("note") == "pass"}
    steps = rows[rows[:, 0] == Row.STEP]
    ends = {int(row[2]): row for row in rows[rows[:, 0] == Row.END]}
    for _, start, number, before in rows[rows[:, 0] == Row.PASS].tolist():
        marks = steps[steps[:, 3] == number, 1]
        end = ends.get(number)
        last = int(end[1]) if end is not None else int(marks[-1]) if len(marks) else start
        after = int(end[3]) if end is not None else before
        yield Pass(
            id=number,
            name=str(names.get(number, "?")),
            start=start,
            end=last,
            marks=marks,
            frames=(before, after),
            complete=end is not None,
        )
