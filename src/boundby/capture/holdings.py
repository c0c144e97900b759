"""What the program holds on the device by name: every module and optimizer of the process."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from boundby.memory.pointers import Row, of_module, of_optimizer


def holdings() -> Iterator[Row]:
    """Device, address, part and name of what modules and optimizers hold, found by the collector.

    The types of objects are looked at and nothing else of them, so no code of a proxy runs. An
    object that does not answer as torch's own do is left out: its memory is inferred then.
    """
    modules, optimizers = _living()
    inside = {id(child) for module in modules for child in _children(module)}
    names: dict[int, str] = {}
    for module in modules:
        if id(module) not in inside:
            names |= dict(_answered(_names, module))
            yield from _answered(of_module, module)
    for optimizer in optimizers:
        yield from _answered(of_optimizer, optimizer, names)


def _living() -> tuple[list[Any], list[Any]]:
    import torch

    found: tuple[list[Any], list[Any]] = [], []
    for each in gc.get_objects():
        if issubclass(type(each), torch.nn.Module):
            found[0].append(each)
        elif issubclass(type(each), torch.optim.Optimizer):
            found[1].append(each)
    return found


def _children(module: Any) -> Iterable[Any]:  # noqa: ANN401 -- torch's
    children = vars(module).get("_modules")
    return children.values() if isinstance(children, dict) else ()


def _names(module: Any) -> Iterator[tuple[int, str]]:  # noqa: ANN401 -- torch's
    for name, tensor in module.named_parameters():
        yield id(tensor), name


def _answered(ask: Callable[..., Iterable[Any]], *about: Any) -> list[Any]:  # noqa: ANN401
    try:
        return list(ask(*about))
    except Exception:  # noqa: BLE001 -- sparse, lazy or half-built: whatever the program has
        return []
