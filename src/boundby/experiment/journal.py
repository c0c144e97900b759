"""The journal: a folder that only grows, one JSON record a line, each on disk before the next.

``journal.jsonl`` is all of it: copied alone to another machine, it is taken up there. Folders
beside it hold what each process printed and recorded.
"""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import Any

from boundby.errors import BoundbyError, CannotTellError, UsageError
from boundby.experiment.holding import hold
from boundby.experiment.records import (
    BASELINE,
    END,
    PROGRAM,
    Record,
    is_header,
    is_whole_header,
    record_in,
)
from boundby.experiment.settings import Settings
from boundby.experiment.values import Facts

FILE = "journal.jsonl"
VERSION = 1
KNOWN = ("batch", "flops", "memory_bytes", "computes")
"""Facts of the program that its journal keeps."""
TORN = "the last record was torn when its writer was killed: dropped"

FULL = "make room, then run the same command again: it takes up from here"
GONE = "the folder was removed meanwhile: run the same command again, with one that stays"


@dataclass(frozen=True)
class Kept:
    """What a journal holds.

    Attributes:
        header: What it is of; None where nothing was written yet.
        records: Every record of a trial, in order.
        programs: What each run wrote at its start.
        ending: What the run of the last baseline wrote at its end; None where it came to none.
        seconds: Of each run, as it said at its end, else of its trials.
        notes: What was wrong with it.
        torn: Bytes at the end that are no whole line.
    """

    header: Record | None
    records: tuple[Record, ...]
    programs: tuple[Record, ...]
    ending: Record | None
    seconds: tuple[float, ...]
    notes: tuple[str, ...]
    torn: int


class Journal:
    """An open journal.

    Attributes:
        folder: Where it lies.
        records: All that was written of trials.
        notes: What was wrong with it when it was opened.
        earlier_s: Seconds of the runs that it held then.
    """

    def __init__(self, folder: Path, settings: Settings) -> None:
        self.folder = folder
        self._path = folder / FILE
        header = header_of(settings)
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._hold = hold(self._path)
            found = read_journal(self._path)
            if found.header is None:
                self._write(header)
            else:
                _same_program(self.folder, found.header, header)
            if found.torn:
                os.truncate(self._path, self._path.stat().st_size - found.torn)
        except OSError as error:
            raise BoundbyError(
                f"{folder}: cannot keep a journal: {error.strerror}", "name another --journal"
            ) from None
        self.records: list[Record] = list(found.records)
        self.notes = list(found.notes)
        self.earlier_s = sum(found.seconds)

    @property
    def is_resumed(self) -> bool:
        """Whether it held trials when it was opened."""
        return bool(self.records)

    def append(self, record: Record) -> None:
        """Write a record; it is on disk when this returns.

        Raises:
            BoundbyError: The disk is full, or the folder went away.
        """
        self._write_or_tell(record)
        self.records.append(record)

    def begin(self, facts: Facts) -> None:
        """Write what reports need to know of the program beside its trials.

        Raises:
            BoundbyError: The disk is full, or the folder went away.
        """
        known = {name: getattr(facts, name) for name in KNOWN}
        self._write_or_tell({"kind": PROGRAM, "program": facts.kind, **known})

    def end(self, why: str, seconds: float) -> None:
        """Write that this run came to its end.

        Raises:
            BoundbyError: The disk is full, or the folder went away.
        """
        self._write_or_tell({"kind": END, "why": why, "seconds": seconds})

    def _write_or_tell(self, record: Record) -> None:
        try:
            self._write(record)
        except OSError as error:
            is_gone = isinstance(error, FileNotFoundError)
            raise BoundbyError(
                f"{self._path}: cannot write: {error.strerror}", GONE if is_gone else FULL
            ) from None

    def trial_folder(self, name: str) -> Path:
        """A folder for one process that no other has."""
        for number in range(1, 1_000_000):
            path = self.folder / "processes" / f"{number:03}-{name}"
            if not any(path.parent.glob(f"{number:03}-*")):
                return path
        raise BoundbyError(f"{self.folder} is full", "make room there, or name another --journal")

    def _write(self, record: Record) -> None:
        line = json.dumps(_finite(record), allow_nan=False) + "\n"
        with self._path.open("ab") as file:
            file.write(line.encode("ascii"))
            file.flush()
            os.fsync(file.fileno())


def read_journal(path: Path) -> Kept:
    """What a journal holds; it is left as it is.

    Raises:
        UsageError: The file is no journal.
        CannotTellError: It does not say what it is of.
        OSError: It cannot be read.
    """
    raw = path.read_bytes() if path.is_file() else b""
    if not raw:
        return Kept(None, (), (), None, (), (), 0)
    whole, _, torn = raw.rpartition(b"\n")
    head, *lines = whole.splitlines() or [b""]
    if not is_header(head):
        raise UsageError(
            f"{path} is no journal of boundby; it was left as it is",
            "name another --journal folder",
        )
    if not is_whole_header(head):
        raise CannotTellError(
            f"{path}: the first line of the journal is damaged; it was left as it is",
            "name another --journal folder",
        )
    notes = [TORN] if torn else []
    found = [(number, record_in(line)) for number, line in enumerate(lines, start=2)]
    notes += [
        f"line {number} of the journal is no record of a trial: left out"
        for number, record in found
        if record is None
    ]
    records = [record for _, record in found if record is not None]
    programs = tuple(each for each in records if each["kind"] == PROGRAM)
    trials = tuple(each for each in records if each["kind"] not in (PROGRAM, END))
    ending, seconds = _last_ending(records), _seconds(records)
    return Kept(json.loads(head), trials, programs, ending, seconds, tuple(notes), len(torn))


def _last_ending(records: list[Record]) -> Record | None:
    """How the run of the last baseline ended: runs before it may have been killed."""
    found: Record | None = None
    for each in records:
        if each["kind"] in (BASELINE, END):
            found = each if each["kind"] == END else None
    return found


def _seconds(records: list[Record]) -> tuple[float, ...]:
    """Of each run, in order: what it said at its end, else the sum of its trials."""
    found: list[float] = []
    for each in records:
        if each["kind"] == BASELINE:
            found.append(0.0)
        if not found:
            continue
        spent = float(each.get("seconds") or 0.0)
        found[-1] = spent if each["kind"] == END else found[-1] + spent
    return tuple(found)


def _finite(value: Any) -> Any:  # noqa: ANN401 -- any plain value
    """The same value; what is no finite number is null, since JSON knows no other."""
    if isinstance(value, dict):
        return {key: _finite(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(each) for each in value]
    return None if isinstance(value, float) and not isfinite(value) else value


def header_of(settings: Settings) -> Record:
    """What a journal is of: the program, by name and content, and the memory it may use."""
    return {
        "kind": "header",
        "version": VERSION,
        "target": settings.target,
        "arguments": list(settings.arguments),
        "content": content_of(settings.target),
        "memory_cap": settings.memory_cap,
    }


def content_of(target: str) -> str | None:
    """A hash of the file that a target names; None where it names a module."""
    path = Path(target if target.endswith(".py") else target.partition(".py:")[0] + ".py")
    if not path.is_file():
        return None
    return hashlib.sha256(path.read_bytes()).hexdigest()[:16]


def _same_program(folder: Path, found: Record, wanted: Record) -> None:
    if found.get("version") != VERSION:
        raise UsageError(f"{folder} holds no journal of this version", "name another --journal")
    for key, what in (
        ("target", "target"),
        ("arguments", "arguments"),
        ("content", "content of the file"),
        ("memory_cap", "memory cap"),
    ):
        if found.get(key) != wanted[key]:
            raise UsageError(
                f"{folder} is the journal of another program: the {what} differs",
                "name another --journal folder for this one",
            )
