"""Pickled bytes made plain values without trust: no globals, bounded memory, time and size.

Runs in a child process only (``snapshot_child``): a pickle can crash the interpreter that loads
it (a deeply nested tuple as a key overflows the stack of the hash function), so a crash must not
be ours. A snapshot as torch writes it refers to no global at all, so all are refused.
"""

from __future__ import annotations

import gc
import importlib
import io
import pickle
import pickletools
import sys
import zipfile
from pathlib import Path
from typing import Any, NoReturn

from boundby.read.stream import GZIP_MAGIC, Pieces

GIB = 1 << 30
DEFAULT_MAX_BYTES = 2 * GIB
"""Unpacked size: about 20 million events as torch 2.11 writes them."""

MAX_RATIO = 100
"""Unpacked to packed; real snapshots measured 8 to 20. Below ``RATIO_FLOOR`` it costs nothing."""
RATIO_FLOOR = 64 << 20

EXPANSION = 60
"""Bytes of Python objects per byte of pickle, at most: a dict of nine keys from 30 bytes."""
CPU_SECONDS = 60
CPU_SECONDS_PER_GIB = 60

ZIP_MAGIC = b"PK\x03\x04"
PICKLE_STARTS = b"\x80(]}"
MEMO_OPS = frozenset({"PUT", "BINPUT", "LONG_BINPUT"})
ENDLESS = 1 << 60


class RefusedError(Exception):
    """The file is not what it claims to be, or asks for what no snapshot needs."""


class _Plain(pickle.Unpickler):
    """An unpickler of containers, texts and numbers."""

    def find_class(self, module: str, name: str) -> NoReturn:
        raise RefusedError(f"it names {module}.{name}, and a snapshot names no code at all")

    def persistent_load(self, pid: object) -> NoReturn:  # noqa: ARG002 -- pickle's
        raise RefusedError("it holds a persistent id, which no snapshot does")

    def get_extension(self, code: int) -> NoReturn:
        raise RefusedError(f"it holds the extension code {code}, which no snapshot does")


def unpack(path: Path, max_bytes: int) -> bytes:
    """The pickled bytes of a plain, gzip or zip file.

    Raises:
        RefusedError: Empty, larger than ``max_bytes``, or packed more tightly than snapshots are.
    """
    with path.open("rb") as file:
        start = file.read(4)
    packed = path.stat().st_size
    if start == ZIP_MAGIC:
        raw = _unzip(path, max_bytes)
    else:
        limit = max_bytes
        if start.startswith(GZIP_MAGIC) and max_bytes == DEFAULT_MAX_BYTES:
            limit = min(limit, max(RATIO_FLOOR, packed * MAX_RATIO))
        raw = _read(path, limit, packed)
    if not raw:
        raise RefusedError("it is empty")
    if raw[0] not in PICKLE_STARTS:
        raise RefusedError("it is no pickle")
    return raw


def _read(path: Path, limit: int, packed: int) -> bytes:
    parts, total = [], 0
    pieces = Pieces(path)
    for piece in pieces:
        total += len(piece)
        if total > limit:
            raise RefusedError(
                f"it unpacks to more than {limit >> 20} MiB from {packed >> 10} KiB"
                if packed < limit
                else f"it is larger than {limit >> 20} MiB"
            )
        parts.append(piece)
    if pieces.cut_short:
        raise RefusedError("its compressed stream is cut short or damaged")
    return b"".join(parts)


def _unzip(path: Path, max_bytes: int) -> bytes:
    try:
        with zipfile.ZipFile(path) as archive:
            names = [
                each for each in archive.infolist() if each.filename.endswith((".pickle", ".pkl"))
            ]
            if len(names) != 1:
                raise RefusedError(
                    f"it is a zip archive with {len(names)} pickles; unpack it first"
                )
            member = names[0]
            limit = min(max_bytes, max(RATIO_FLOOR, member.compress_size * MAX_RATIO))
            with archive.open(member) as file:
                raw = file.read(limit + 1)
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, EOFError, OSError) as error:
        raise RefusedError(f"it is a damaged zip archive: {error}") from error
    if len(raw) > limit:
        raise RefusedError(f"it unpacks to more than {limit >> 20} MiB")
    return raw


def load(raw: bytes) -> Any:  # noqa: ANN401 -- whatever the pickle holds; columns are typed later
    """The values in a pickle. Leaves the limits on memory and time in force.

    Raises:
        RefusedError: It asks for code, for more memory than its size warrants, or is damaged.
    """
    if not _limit(len(raw)):
        _prescan(raw)
    gc.disable()  # nothing here is garbage, and looking for it doubles the time
    try:
        return _Plain(io.BytesIO(raw)).load()
    except RefusedError:
        raise
    except MemoryError:
        raise RefusedError("it asks for more memory than a snapshot of its size needs") from None
    except Exception as error:  # damaged bytes raise any of a dozen types
        raise RefusedError(f"it is damaged: {type(error).__name__}: {str(error)[:80]}") from error


def _limit(size: int) -> bool:
    """Cap memory and time of this process; False where the system cannot."""
    if not sys.platform.startswith("linux"):
        return False
    resource = importlib.import_module("resource")
    now = int(Path("/proc/self/statm").read_text("ascii").split()[0]) * resource.getpagesize()
    seconds = CPU_SECONDS + CPU_SECONDS_PER_GIB * size // GIB
    _lower(resource, resource.RLIMIT_AS, now + max(GIB, EXPANSION * size))
    _lower(resource, resource.RLIMIT_CPU, seconds)
    _lower(resource, resource.RLIMIT_CORE, 0)
    return True


def _lower(resource: Any, which: int, wanted: int) -> None:  # noqa: ANN401 -- a module
    soft, hard = resource.getrlimit(which)
    known = [each for each in (soft, hard, wanted) if each != resource.RLIM_INFINITY]
    resource.setrlimit(which, (min(known), hard))


def _prescan(raw: bytes) -> None:
    """Refuse a memo index larger than the number of operations so far: the nine-byte bomb."""
    try:
        for count, (opcode, argument, _) in enumerate(pickletools.genops(raw)):
            if opcode.name in MEMO_OPS and (not isinstance(argument, int) or argument > count):
                break
        else:
            return
    except Exception as error:  # damaged bytes raise any of a dozen types
        raise RefusedError(f"it is damaged: {str(error)[:80]}") from error
    raise RefusedError("it asks for more memory than a snapshot of its size needs")
