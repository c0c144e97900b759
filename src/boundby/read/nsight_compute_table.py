"""The table inside the output of ``ncu --csv``, whatever stands around and between its rows.

The same stream may carry lines of ncu (``==PROF==``) and whatever the program prints.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from boundby.errors import UnreadableError
from boundby.read.stream import Pieces

EXPORT = "ncu --import REPORT.ncu-rep --csv --page raw > kernels.csv"
PROFILE_HINT = "ncu --set full --csv --page raw --log-file kernels.csv python train.py"
KERNEL, METRIC = "Kernel Name", "Metric Name"
VALUES = ("Metric Value", "Average")
"""The second where launches of one kernel were summed up (``--print-summary``)."""
_DELIMITERS = ",;\t"
_FEWEST_COLUMNS = 5
_LONGEST_CELL_LINES = 200
"""Lines that one quoted cell may span; rules are a paragraph."""
_ROW = re.compile(r'"\d*"')
"""How rows start: with the id of the kernel or of the process."""
_MARKS = ((b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16"), (b"\xef\xbb\xbf", "utf-8-sig"))
_NO_PERMISSION = "ERR_NVGPUCTRPERM"
_NO_KERNELS = "No kernels were profiled"
_FAILED = "==ERROR== Failed to profile"


@dataclass
class CsvTable:
    """Rows of one table.

    Attributes:
        header: Names of the columns.
        rows: Cells as text, each row as long as the header.
        is_cut_short: The file ends inside a row.
        failed: Kernels that ncu says it could not profile.
    """

    header: list[str]
    rows: list[list[str]] = field(default_factory=list)
    is_cut_short: bool = False
    failed: int = 0

    def column(self, *names: str) -> int | None:
        """Place of the first of these columns that is there."""
        return next((self.header.index(name) for name in names if name in self.header), None)

    def cell(self, row: Sequence[str], name: str) -> str | None:
        """A cell by the name of its column; None where it is empty or there is no such column."""
        at = self.column(name)
        return (row[at] or None) if at is not None else None


def read_table(path: Path) -> CsvTable:
    """The table of kernels in a file, plain or gzip.

    Raises:
        UnreadableError: There is none, or no row in it; what the file says of it is told.
    """
    pieces = Pieces(path)
    content = b"".join(pieces)
    lines = _decoded(content).splitlines()
    start, header, delimiter = _find_header(path, lines)
    table = CsvTable(header, failed=sum(line.startswith(_FAILED) for line in lines))
    ends_whole = _add_rows(table, lines[start + 1 :], delimiter)
    table.is_cut_short = pieces.cut_short or not ends_whole
    if not table.rows:
        raise UnreadableError(f"{path} holds a header and no kernel", _hint(lines))
    return table


def _decoded(content: bytes) -> str:
    """Text in whatever encoding a shell redirected it to; NULs are dropped."""
    for mark, encoding in _MARKS:
        if content.startswith(mark):
            return content.decode(encoding, "replace")
    return content.decode("utf-8", "replace").replace("\x00", "")


def _find_header(path: Path, lines: Sequence[str]) -> tuple[int, list[str], str]:
    for number, line in enumerate(lines):
        if KERNEL in line:
            for delimiter in _DELIMITERS:
                cells = _cells(line, delimiter)
                if KERNEL in cells and _is_header(cells):
                    return number, cells, delimiter
    raise _no_table(path, lines)


def _is_header(cells: Sequence[str]) -> bool:
    return METRIC in cells or any("__" in cell for cell in cells)


def _cells(line: str, delimiter: str) -> list[str]:
    """The cells of a line; none where its quotes are damaged."""
    try:
        return next(csv.reader([line], delimiter=delimiter), [])
    except csv.Error:
        return []


def _add_rows(table: CsvTable, lines: Sequence[str], delimiter: str) -> bool:
    """Add the rows among the lines, filled up to the header; whether the last one is whole.

    Rows of the details page end after the value where no rule follows.
    """
    value = table.column(*VALUES)
    least = len(table.header) if value is None else value + 1
    is_whole = True
    for text in _records(lines):
        cells = _cells(text, delimiter)
        if text.count('"') % 2 == 0 and least <= len(cells) <= len(table.header):
            is_whole = True
            if cells != table.header:
                table.rows.append(cells + [""] * (len(table.header) - len(cells)))
        elif _ROW.match(text):
            is_whole = False
    return is_whole


def _records(lines: Sequence[str]) -> Iterator[str]:
    """Lines that may be rows; those whose last quote is open are joined with the next ones."""
    number = 0
    while number < len(lines):
        record, number = lines[number], number + 1
        if not record or record.startswith("=="):
            continue
        ends = number + _LONGEST_CELL_LINES
        while _ROW.match(record) and record.count('"') % 2 and number < min(len(lines), ends):
            if lines[number].startswith("=="):
                break
            record, number = f"{record}\n{lines[number]}", number + 1
        yield record


def _no_table(path: Path, lines: Sequence[str]) -> UnreadableError:
    """Why there is no table, in the words of the file where it says so."""
    if not any(line.strip() for line in lines):
        return UnreadableError(f"{path} is empty", PROFILE_HINT)
    known = _known_trouble(path, lines)
    if known:
        return known
    if any(line.lstrip().startswith("Section: ") for line in lines):
        return UnreadableError(f"{path} is the text report of ncu, not its table", EXPORT)
    foreign = next((cells for line in lines if (cells := _columns(line))), None)
    if foreign:
        named = ", ".join(repr(cell) for cell in foreign[:3])
        return UnreadableError(
            f"{path} holds a table ({named} ...) without the column {KERNEL!r}: it is of another "
            "tool or in another language",
            f"LC_ALL=C {EXPORT}",
        )
    return UnreadableError(f"{path} holds no table of ncu --csv", PROFILE_HINT)


def _columns(line: str) -> list[str] | None:
    """The cells of a line that looks like the head of a table."""
    if line.startswith("=="):
        return None
    for delimiter in _DELIMITERS:
        cells = _cells(line, delimiter)
        if len(cells) >= _FEWEST_COLUMNS:
            return cells
    return None


def _known_trouble(path: Path, lines: Sequence[str]) -> UnreadableError | None:
    if any(_NO_PERMISSION in line for line in lines):
        return UnreadableError(
            f"{path} holds no kernel: this user may not read the counters of the device "
            f"({_NO_PERMISSION})",
            "run ncu as root, or allow it: https://developer.nvidia.com/ERR_NVGPUCTRPERM",
        )
    if any(_NO_KERNELS in line for line in lines):
        return UnreadableError(
            f"{path} holds no kernel: ncu profiled none", "check the pattern of --kernel-name"
        )
    return None


def _hint(lines: Sequence[str]) -> str:
    if any(_NO_PERMISSION in line for line in lines):
        return "run ncu as root: this user may not read the counters of the device"
    return "check the pattern of --kernel-name and the count of --launch-skip"
