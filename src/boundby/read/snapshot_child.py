"""The child process that opens a snapshot: path and size limit in, a message of columns out."""

from __future__ import annotations

import sys
from pathlib import Path

from boundby.read.snapshot_columns import convert
from boundby.read.snapshot_load import RefusedError, load, unpack
from boundby.read.snapshot_wire import Refusal, Wire, encode


def answer(path: Path, max_bytes: int) -> Wire | Refusal:
    """The columns of the snapshot, or why there are none."""
    try:
        raw = unpack(path, max_bytes)
        return convert(load(raw), len(raw))
    except RefusedError as error:
        return Refusal(str(error))
    except MemoryError:
        return Refusal("it asks for more memory than a snapshot of its size needs")
    except OSError as error:
        return Refusal(f"it cannot be read: {error.strerror}")


def main(path: str, max_bytes: str) -> None:
    """Write the answer to stdout."""
    sys.stdout.buffer.write(encode(answer(Path(path), int(max_bytes))))
    sys.stdout.buffer.flush()
