"""One run a journal: its file is locked as long as the run lives, however that ends."""

from __future__ import annotations

import os
import weakref
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

from boundby.errors import UsageError


class Hold:
    """A lock on a file against other processes; let go where nothing refers to it any more."""

    def __init__(self, path: Path) -> None:
        held = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o666)
        weakref.finalize(self, os.close, held)
        if find_spec("fcntl") is None:  # Windows: there two runs are not kept apart
            return
        fcntl = import_module("fcntl")
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise UsageError(
                f"{path.parent}: another run is writing this journal",
                "wait for its end, or name another --journal",
            ) from None
        except OSError:  # a file system without locks
            return


_HELD: weakref.WeakValueDictionary[Path, Hold] = weakref.WeakValueDictionary()
"""By file: this process may open a journal again."""


def hold(path: Path) -> Hold:
    """Lock a journal for this process.

    Raises:
        UsageError: Another process has it.
        OSError: It cannot be written.
    """
    where = path.resolve()
    found = _HELD.get(where)
    if found is None or not path.exists():
        found = _HELD[where] = Hold(path)
    return found
