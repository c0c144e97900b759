"""Norms that are written out by hand, known by what they compute: names tell too little."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

from boundby.bench.framework import Tensor, torch, torch_module

EPSILONS = ("eps", "epsilon", "variance_epsilon")
LEAST = 1e-6
ALIKE = {"float64": 1e-6, "float32": 1e-5, "float16": 5e-3, "bfloat16": 3e-2}
"""Distance over size below which two norms of an element type are the same one."""

Norm = Callable[[Tensor], Tensor]


def norms_by_hand(model: Any) -> list[tuple[Any, Norm]]:  # noqa: ANN401 -- a torch module
    """Modules that compute what a norm of torch does, each with that norm on its own parameters."""
    found = ((each, _same_as(each)) for each in model.modules() if _may_be_one(each))
    return [(module, norm) for module, norm in found if norm is not None]


def _may_be_one(module: Any) -> bool:  # noqa: ANN401
    own = not type(module).__module__.startswith("torch.")
    weight: Any = getattr(module, "weight", None)
    is_vector = isinstance(weight, torch().Tensor) and weight.dim() == 1
    return own and is_vector and "Norm" in type(module).__name__


def _same_as(module: Any) -> Norm | None:  # noqa: ANN401
    """The norm of torch that gives the same on a probe; None without one."""
    weight = module.weight
    tolerance = ALIKE.get(str(weight.dtype).removeprefix("torch."))
    if tolerance is None or not len(weight):
        return None
    count = 2 * len(weight)
    probe = torch().linspace(-1, 3, count, dtype=torch().float64).sin() + 0.5
    probe = probe.reshape(2, -1).to(device=weight.device, dtype=weight.dtype)
    found = _answer(module, probe)
    if not isinstance(found, torch().Tensor):
        return None
    with torch().no_grad():
        alike = (n for n in (_rms(module), _layer(module)) if _is_alike(found, n(probe), tolerance))
        return next(alike, None)


def _answer(module: Any, probe: Tensor) -> Any:  # noqa: ANN401
    """What a copy of the module gives: buffers and random numbers stay as they are."""
    devices = [probe.device] if probe.is_cuda else []
    with torch().random.fork_rng(devices=devices), torch().no_grad():
        try:
            return copy.deepcopy(module)(probe)
        except Exception:  # noqa: BLE001 -- a user's module raises whatever it likes
            return None


def _is_alike(found: Tensor, wanted: Tensor, tolerance: float) -> bool:
    if found.shape != wanted.shape or found.dtype != wanted.dtype:
        return False
    apart = float((found.double() - wanted.double()).norm())
    return apart <= tolerance * float(wanted.double().norm())


def _epsilon(module: Any) -> float:  # noqa: ANN401
    return next((getattr(module, name) for name in EPSILONS if hasattr(module, name)), LEAST)


def _rms(module: Any) -> Norm:  # noqa: ANN401
    functional, epsilon = torch_module("nn.functional"), _epsilon(module)
    shape = tuple(module.weight.shape)
    return lambda x: functional.rms_norm(x, shape, module.weight, epsilon)


def _layer(module: Any) -> Norm:  # noqa: ANN401
    epsilon, shape = _epsilon(module), tuple(module.weight.shape)
    return lambda x: torch().layer_norm(
        x, shape, module.weight, getattr(module, "bias", None), epsilon
    )
