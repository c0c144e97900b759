"""Which format a file is of, told by its content; a new format is one entry in ``FORMATS``."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Literal

from boundby.errors import UnreadableError
from boundby.frozen import frozen
from boundby.read.kineto import RECORD_HINT, read_kineto
from boundby.read.recording import Recording
from boundby.read.stream import Pieces

PEEKED_BYTES = 4096
SQLITE_MAGIC = b"SQLite format 3\x00"
_JSON_STARTS = (b"{", b"[")
_SPACE = b" \t\r\n\x00"
_UTF8_MARK = b"\xef\xbb\xbf"


_TABLES = (
    b"==PROF==",
    b"==WARNING==",
    b"==ERROR==",
    b'"ID","Process ID"',
    b'"Process ID","Kernel',
)
_TABLE_NAMES = (".csv", ".csv.gz", ".ncu-rep")
_PICKLES = (b"\x80\x02", b"\x80\x03", b"\x80\x04", b"\x80\x05")
_PICKLE_NAMES = (".pickle", ".pkl", ".pickle.gz", ".pkl.gz")
_LOG_NAMES = (".log", ".out", ".err", ".txt")


@frozen
class Format:
    """A format: whether the first bytes (decompressed) of a file are of it, and its reader."""

    name: str
    is_start: Callable[[bytes], bool]
    read: Callable[[Path], Recording]


@frozen
class Foreign:
    """Something that is no recording but is often given as one, and what to do about it."""

    what: str
    hint: str
    magic: tuple[bytes, ...] = ()
    suffixes: tuple[str, ...] = ()


def _is_json(start: bytes) -> bool:
    """JSON, or nothing but space so far: the reader says which."""
    text = start.removeprefix(_UTF8_MARK).lstrip(_SPACE)
    return not text or text.startswith(_JSON_STARTS)


def _is_sqlite(start: bytes) -> bool:
    """An SQLite database: the reader says whether it is an export of Nsight Systems."""
    return start.startswith(SQLITE_MAGIC)


def _read_nsight_systems(path: Path) -> Recording:
    """Imported when used: most files are no databases, and start-up counts."""
    from boundby.read.nsight_systems import read_nsight_systems  # noqa: PLC0415

    return read_nsight_systems(path)


FORMATS: tuple[Format, ...] = (
    Format("kineto", _is_json, read_kineto),
    Format("nsight-systems", _is_sqlite, _read_nsight_systems),
)

FOREIGN: tuple[Foreign, ...] = (
    Foreign(
        "an Nsight Systems report",
        "export it first: nsys export --type sqlite {path}",
        suffixes=(".nsys-rep", ".qdrep", ".qdstrm"),
    ),
    Foreign(
        "an Nsight Compute report",
        "export it first: ncu --import {path} --csv --page raw > kernels.csv",
        suffixes=(".ncu-rep",),
    ),
    Foreign("a zip archive", "unpack it first: unzip {path}", (b"PK\x03\x04", b"PK\x05\x06")),
    Foreign("compressed with zstd", "unpack it first: zstd -d {path}", (b"\x28\xb5\x2f\xfd",)),
    Foreign("compressed with xz", "unpack it first: xz -dk {path}", (b"\xfd7zXZ",)),
    Foreign("compressed with bzip2", "unpack it first: bzip2 -dk {path}", (b"BZh",)),
    Foreign(
        "an SQLite database, cut short in its first bytes",
        "export it again: nsys export --type sqlite REPORT.nsys-rep",
        (b"SQLite format",),
    ),
    Foreign(
        "a table of Nsight Compute",
        "boundby kernel {path}",
        _TABLES,
    ),
    Foreign(
        "a pickle, perhaps a memory snapshot",
        "boundby memory {path}",
        _PICKLES,
    ),
    Foreign(
        "text in UTF-16",
        "convert it first: iconv -f UTF-16 -t UTF-8 {path}",
        (b"\xff\xfe", b"\xfe\xff"),
    ),
)


def read_file(path: Path) -> Recording:
    """The recording in one file.

    Raises:
        UnreadableError: The file is of no known format or holds nothing that can be read.
        OSError: It cannot be opened.
    """
    start = next(iter(Pieces(path, PEEKED_BYTES)), b"")
    for entry in FORMATS:
        if entry.is_start(start):
            return entry.read(path)
    for other in FOREIGN:
        if start.startswith(other.magic) or path.name.endswith(other.suffixes or ("\0",)):
            raise UnreadableError(f"{path} is {other.what}", other.hint.format(path=path))
    raise UnreadableError(f"{path} is of no known format", RECORD_HINT)


def contents(path: Path) -> Literal["time", "kernels", "memory", "text"]:
    """What a file is about, by its first bytes: a recording of time, measured kernels, or memory.

    Damaged and foreign formats count as time, whose reader says what to do about them.

    Raises:
        OSError: It cannot be opened.
    """
    start = next(iter(Pieces(path, PEEKED_BYTES)), b"")
    name = path.name.lower()
    if start.startswith(_PICKLES) or name.endswith(_PICKLE_NAMES):
        return "memory"
    if start.startswith(_TABLES) or name.endswith(_TABLE_NAMES):
        return "kernels"
    if name.endswith(_LOG_NAMES):
        return "text"
    is_known = any(entry.is_start(start) for entry in FORMATS)
    is_foreign = any(start.startswith(other.magic) for other in FOREIGN if other.magic)
    is_named = any(path.name.endswith(other.suffixes) for other in FOREIGN if other.suffixes)
    return "time" if is_known or is_foreign or is_named or b"\0" in start else "text"
