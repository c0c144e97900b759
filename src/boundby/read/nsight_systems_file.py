"""An export of Nsight Systems: an SQLite file, opened read-only, its tables as int64 columns.

Schemas 2.x and 3.x differ in tables and columns, and tables are written only where they have rows,
so everything is asked for by name and may be absent.
"""

from __future__ import annotations

import itertools
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import NamedTuple

import numpy as np

from boundby.errors import UnreadableError
from boundby.read.columns import Array
from boundby.read.recording import NONE
from boundby.read.stream import GZIP_MAGIC, Pieces

MAGIC = b"SQLite format 3\x00"
EXPORT_HINT = "export it again: nsys export --type sqlite --force-overwrite true REPORT.nsys-rep"
_FETCHED_ROWS = 1 << 16
_HEADER_BYTES = 100
_LARGEST_PAGE = 65536
_STRINGS = "StringIds"
_META_TABLES = ("META_DATA_EXPORT", "EXPORT_META_DATA")
_OWN_TABLES = (*_META_TABLES, "TARGET_INFO_SYSTEM_ENV", "TARGET_INFO_GPU", "NVTX_EVENTS")
_ACTIVITY = "CUPTI_ACTIVITY_KIND_"

Source = str | tuple[str, ...]
"""A column by its name in the file, or several whose product is taken."""


class Condition(NamedTuple):
    """A part of a WHERE clause over columns of the table, with its parameters."""

    sql: str
    values: tuple[int, ...] = ()


class Export:
    """An open export.

    Attributes:
        tables: The columns of each table of the file.
    """

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        connection.text_factory = lambda raw: raw.decode("utf-8", "replace")
        names = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        self.tables = {name: self._columns_of(name) for (name,) in names.fetchall()}

    def _columns_of(self, table: str) -> frozenset[str]:
        rows = self._connection.execute("SELECT name FROM pragma_table_info(?)", (table,))
        return frozenset(name for (name,) in rows)

    @property
    def is_nsight(self) -> bool:
        """Whether the tables are those of Nsight Systems."""
        if not {"id", "value"} <= self.tables.get(_STRINGS, frozenset()):
            return False
        return any(name in _OWN_TABLES or name.startswith(_ACTIVITY) for name in self.tables)

    def has(self, table: str, *columns: str) -> bool:
        """Whether a table is there with these columns."""
        return table in self.tables and set(columns) <= self.tables[table]

    def metadata(self) -> dict[str, str]:
        """Facts about the export itself, such as ``EXPORT_SCHEMA_VERSION``."""
        for table in _META_TABLES:
            if self.has(table, "name", "value"):
                sql = f"SELECT name, value FROM {table}"  # noqa: S608 - a name of this module
                return {str(name): str(value) for name, value in self._connection.execute(sql)}
        return {}

    def strings(self) -> dict[int, str]:
        """All interned strings by id."""
        rows = self._connection.execute("SELECT id, value FROM StringIds")
        return {key: "" if value is None else str(value) for key, value in rows}

    def rows(self, table: str, *columns: str) -> list[tuple[object, ...]]:
        """The rows of a small table as they are; none where table or columns are missing."""
        if not self.has(table, *columns):
            return []
        named = ", ".join(f'"{name}"' for name in columns)
        sql = f"SELECT {named} FROM {table}"  # noqa: S608 - names of this package
        return self._connection.execute(sql).fetchall()

    def columns(
        self, table: str, wanted: Mapping[str, Source], *conditions: Condition
    ) -> dict[str, Array]:
        """int64 columns in the order of the file, NONE where a value or a column is missing.

        Args:
            table: Its name; a table that is not there has no rows.
            wanted: The source of each column, under the name it is to have.
            conditions: All must hold.
        """
        known = self.tables.get(table, frozenset())
        present = {key: _names(each) for key, each in wanted.items() if known >= {*_names(each)}}
        if table not in self.tables or not present:
            return {key: np.zeros(0, dtype=np.int64) for key in wanted}
        parts = [_integer(names) for names in present.values()]
        chunks = list(self._chunks(table, parts, conditions))
        joined = np.concatenate(chunks) if chunks else np.zeros((0, len(parts)), dtype=np.int64)
        found = {key: joined[:, at].copy() for at, key in enumerate(present)}
        absent = np.full(len(joined), NONE, dtype=np.int64)
        return {key: found.get(key, absent) for key in wanted}

    def _chunks(
        self, table: str, parts: Sequence[str], conditions: Sequence[Condition]
    ) -> Iterator[Array]:
        cursor = self._select(", ".join(parts), table, conditions)
        while rows := cursor.fetchmany(_FETCHED_ROWS):
            values = itertools.chain.from_iterable(rows)
            flat = np.fromiter(values, dtype=np.int64, count=len(rows) * len(parts))
            yield flat.reshape(-1, len(parts))

    def texts(self, table: str, column: str, *conditions: Condition) -> list[str | None]:
        """One text column of the same rows as ``columns`` gives; None where there is none."""
        cursor = self._select(f'"{column}"', table, conditions)
        return [None if text is None else str(text) for (text,) in cursor]

    def work(self, table: str) -> list[tuple[int, int, int]]:
        """Process (``globalPid``), device and summed nanoseconds of the rows of a device table."""
        if not self.has(table, "start", "end"):
            return []
        keys = [
            _integer((name,)) if name in self.tables[table] else str(NONE)
            for name in ("globalPid", "deviceId")
        ]
        wanted = f"{', '.join(keys)}, SUM(end - start)"
        sql = f"SELECT {wanted} FROM {table} GROUP BY 1, 2"  # noqa: S608 - names of this package
        return [
            (pid, device, int(time or 0)) for pid, device, time in self._connection.execute(sql)
        ]

    def _select(self, what: str, table: str, conditions: Sequence[Condition]) -> sqlite3.Cursor:
        where = " AND ".join(part.sql for part in conditions) or "1"
        sql = f"SELECT {what} FROM {table} WHERE {where} ORDER BY rowid"  # noqa: S608 - as above
        values = [value for part in conditions for value in part.values]
        return self._connection.execute(sql, values)


def _names(source: Source) -> tuple[str, ...]:
    return (source,) if isinstance(source, str) else source


def _integer(names: tuple[str, ...]) -> str:
    """SQL of an integer column, or of the product of several."""
    product = " * ".join(f'"{name}"' for name in names)
    return f"CAST(IFNULL({product}, {NONE}) AS INTEGER)"


@contextmanager
def open_export(path: Path) -> Iterator[Export]:
    """Open an export, plain or gzip, without writing to it or beside it.

    Raises:
        UnreadableError: It is no export of Nsight Systems, or is damaged or cut short; also when
            that shows only later, while it is open.
    """
    with _plain_file(path) as file:
        _require_all_pages(path, file)
        try:
            uri = f"{file.resolve().as_uri()}?mode=ro&immutable=1"
            with closing(sqlite3.connect(uri, uri=True)) as connection:
                export = Export(connection)
                if not export.is_nsight:
                    raise UnreadableError(
                        f"{path} is an SQLite database, but no export of Nsight Systems",
                        "nsys export --type sqlite REPORT.nsys-rep writes one",
                    )
                yield export
        except (sqlite3.DatabaseError, UnicodeDecodeError) as error:
            raise UnreadableError(
                f"{path} is a damaged export of Nsight Systems: {error}", EXPORT_HINT
            ) from error


@contextmanager
def _plain_file(path: Path) -> Iterator[Path]:
    """The file itself, or a temporary copy without compression."""
    with path.open("rb") as file:
        is_compressed = file.read(len(GZIP_MAGIC)) == GZIP_MAGIC
    if not is_compressed:
        yield path
        return
    import tempfile  # noqa: PLC0415 - a plain file must not pay for it

    with tempfile.TemporaryDirectory(prefix="boundby-") as folder:
        copy = Path(folder) / "export.sqlite"
        pieces = Pieces(path)
        with copy.open("wb") as target:
            target.writelines(pieces)
        if pieces.cut_short:
            raise _cut_short(path)
        yield copy


def _require_all_pages(path: Path, file: Path) -> None:
    """Compare the size of the file with what its header says, as SQLite does page by page."""
    with file.open("rb") as opened:
        header = opened.read(_HEADER_BYTES)
    if len(header) < _HEADER_BYTES:
        raise _cut_short(path)
    page = int.from_bytes(header[16:18], "big")
    count = int.from_bytes(header[28:32], "big")
    if file.stat().st_size < (_LARGEST_PAGE if page == 1 else page) * count:
        raise _cut_short(path)


def _cut_short(path: Path) -> UnreadableError:
    return UnreadableError(f"{path} is cut short: its last pages are missing", EXPORT_HINT)
