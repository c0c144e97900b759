"""One format a file becomes a Recording; damage is repaired where it can be, and always stated."""

from __future__ import annotations

import os
from pathlib import Path

from boundby.errors import UnreadableError
from boundby.read.recording import Recording

__all__ = ["read_recording"]

STDIN = "-"
_SAVE = "save it first: COMMAND > trace.json (or .json.gz), then boundby trace trace.json"


def read_recording(path: str | Path) -> Recording:
    """The recording in a file, or in a folder that holds one or more.

    The format is told by the content. Of several ranks in a folder the lowest with kernels is
    read, and ``quality`` says so.

    Raises:
        UnreadableError: Nothing can be read: missing, forbidden, empty, of no known format.
    """
    from boundby.read.detect import read_file  # noqa: PLC0415 - readers are imported when used
    from boundby.read.folder import read_folder  # noqa: PLC0415

    place = Path(path)
    if not str(path):
        raise UnreadableError("the path is empty", "name a file or a folder")
    try:
        if str(path) == STDIN and not place.exists():
            raise UnreadableError("a recording is not read from stdin", _SAVE)
        if place.is_fifo():
            raise UnreadableError(f"{place} is a pipe: a recording is read more than once", _SAVE)
        if place.exists() and not (place.is_dir() or place.is_file()):
            raise UnreadableError(f"{place} is no file", "name a file or a folder")
        return read_folder(place) if place.is_dir() else read_file(place)
    except FileNotFoundError as error:
        raise UnreadableError(f"{place} does not exist", "check the path") from error
    except PermissionError as error:
        raise UnreadableError(f"{place} may not be read", f"ls -l {place}") from error
    except OSError as error:
        reason = error.strerror or os.strerror(error.errno or 0)
        raise UnreadableError(
            f"{place} cannot be read: {reason.lower()}", "check the path"
        ) from error
