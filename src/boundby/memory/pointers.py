"""The side file that makes composition exact: which pointers are parameters, gradients, states.

Written beside a snapshot while the program runs; ``pointers_of`` needs no torch, only objects that
behave like its module and optimizer.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from boundby.errors import UnreadableError

MOST_BYTES = 256 << 20


class _File(msgspec.Struct):
    """Rows of device, address, part and name."""

    schema_version: int
    pointers: list[tuple[int, int, str, str]]


def pointers_of(model: Any, optimizer: Any = None) -> Iterator[tuple[int, int, str, str]]:  # noqa: ANN401 -- torch's
    """Device, address, part and name of every tensor that a model and its optimizer hold."""
    names = {}
    for name, tensor in model.named_parameters():
        names[id(tensor)] = name
        yield _row(tensor, "parameters", name)
        if tensor.grad is not None:
            yield _row(tensor.grad, "gradients", name)
    for name, tensor in model.named_buffers():
        yield _row(tensor, "parameters", name)
    for parameter, state in (optimizer.state if optimizer is not None else {}).items():
        for key, value in state.items():
            if hasattr(value, "data_ptr"):
                yield _row(value, "optimizer", f"{names.get(id(parameter), '?')}.{key}")


def _row(tensor: Any, part: str, name: str) -> tuple[int, int, str, str]:  # noqa: ANN401 -- torch's
    return tensor.device.index or 0, tensor.untyped_storage().data_ptr(), part, name


def write_pointers(path: Path, model: Any, optimizer: Any = None) -> None:  # noqa: ANN401 -- torch's
    """Write the side file."""
    rows = [list(row) for row in pointers_of(model, optimizer) if row[1]]
    path.write_text(json.dumps({"schema_version": 1, "pointers": rows}), "utf-8")


def read_pointers(path: Path) -> dict[int, dict[int, str]]:
    """Part by address, by device.

    Raises:
        UnreadableError: It is missing or no such file.
    """
    try:
        if path.stat().st_size > MOST_BYTES:
            raise UnreadableError(f"{path} is larger than {MOST_BYTES >> 20} MiB")
        known = msgspec.json.decode(path.read_bytes(), type=_File)
    except OSError as error:
        raise UnreadableError(f"{path}: cannot read: {error.strerror}") from error
    except msgspec.MsgspecError as error:
        raise UnreadableError(f"{path} is no list of pointers: {error}") from error
    found: dict[int, dict[int, str]] = {}
    for device, address, part, _ in known.pointers:
        found.setdefault(device, {})[address] = part
    return found
