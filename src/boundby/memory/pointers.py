"""The side file that makes composition exact: which pointers are parameters, gradients, states.

Written beside a snapshot while the program runs; making its rows needs no torch, only objects that
behave like its modules and optimizers.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from boundby.errors import UnreadableError

MOST_BYTES = 256 << 20

Row = tuple[int, int, str, str]
"""Device, address, part and name."""


class _File(msgspec.Struct):
    """Rows of device, address, part and name."""

    schema_version: int
    pointers: list[tuple[int, int, str, str]]


def pointers_of(model: Any, optimizer: Any = None) -> Iterator[Row]:  # noqa: ANN401 -- torch's
    """Every tensor that a model and its optimizer hold."""
    names = {id(tensor): name for name, tensor in model.named_parameters()}
    yield from of_module(model)
    if optimizer is not None:
        yield from of_optimizer(optimizer, names)


def of_module(model: Any) -> Iterator[Row]:  # noqa: ANN401 -- torch's
    """Parameters, their gradients and the buffers of a module."""
    for name, tensor in model.named_parameters():
        yield from _with_gradient(tensor, name)
    for name, tensor in model.named_buffers():
        yield _row(tensor, "parameters", name)


def of_optimizer(optimizer: Any, names: dict[int, str]) -> Iterator[Row]:  # noqa: ANN401 -- torch's
    """What an optimizer updates, and the state that it keeps.

    Args:
        names: Of parameters, by identity; what is not there is a parameter of no module.
    """
    for group in optimizer.param_groups:
        for tensor in group["params"]:
            yield from _with_gradient(tensor, names.get(id(tensor), "?"))
    for parameter, state in optimizer.state.items():
        for key, value in state.items() if isinstance(state, dict) else ():
            if hasattr(value, "data_ptr"):
                yield _row(value, "optimizer", f"{names.get(id(parameter), '?')}.{key}")


def _with_gradient(tensor: Any, name: str) -> Iterator[Row]:  # noqa: ANN401 -- torch's
    yield _row(tensor, "parameters", name)
    if tensor.grad is not None:
        yield _row(tensor.grad, "gradients", name)


def _row(tensor: Any, part: str, name: str) -> Row:  # noqa: ANN401 -- torch's
    """The address of the storage, of a distributed tensor that of its local part."""
    here = getattr(tensor, "_local_tensor", tensor)
    address = here.untyped_storage().data_ptr() if here.device.type != "cpu" else 0
    return here.device.index or 0, address, part, name


def write_pointers(path: Path, model: Any, optimizer: Any = None) -> None:  # noqa: ANN401 -- torch's
    """Write the side file of one model."""
    write_rows(path, pointers_of(model, optimizer))


def write_rows(path: Path, rows: Iterable[Row]) -> None:
    """Write the side file; the first row of an address counts, none without an address."""
    kept: dict[tuple[int, int], Row] = {}
    for row in rows:
        if row[1]:
            kept.setdefault(row[:2], row)
    path.write_text(
        json.dumps({"schema_version": 1, "pointers": list(map(list, kept.values()))}), "utf-8"
    )


HINT = "name the list that boundby run --snapshot writes with --names, or leave --names out"


def read_pointers(path: Path) -> dict[int, dict[int, str]]:
    """Part by address, by device.

    Raises:
        UnreadableError: It is missing or no such file.
    """
    try:
        if path.stat().st_size > MOST_BYTES:
            raise UnreadableError(f"{path} is larger than {MOST_BYTES >> 20} MiB", HINT)
        known = msgspec.json.decode(path.read_bytes(), type=_File)
    except OSError as error:
        raise UnreadableError(f"{path}: cannot read: {error.strerror}", HINT) from error
    except msgspec.MsgspecError as error:
        raise UnreadableError(f"{path} is no list of pointers: {error}", HINT) from error
    found: dict[int, dict[int, str]] = {}
    for device, address, part, _ in known.pointers:
        found.setdefault(device, {})[address] = part
    return found
