"""The user's own torch, looked up when it is needed and never imported for its own sake."""

from __future__ import annotations

import random
import sys
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np

from boundby.errors import CannotTellError

Tensor = Any
"""A ``torch.Tensor``: boundby is checked alike with and without torch."""


def torch() -> Any:  # noqa: ANN401 -- a module that may be absent
    """The module.

    Raises:
        CannotTellError: torch is not installed where boundby runs.
    """
    if "torch" not in sys.modules and find_spec("torch") is None:
        raise CannotTellError(
            "this needs torch, and it is not installed beside boundby",
            "install boundby into the environment of your program",
        )
    return import_module("torch")


def torch_module(name: str) -> Any:  # noqa: ANN401 -- likewise
    """A module of torch by its name, without ``torch.``."""
    torch()
    return import_module(f"torch.{name}")


def set_seeds(seed: int) -> None:
    """Start the generators of Python, numpy and torch from one number."""
    random.seed(seed)
    np.random.seed(seed)  # noqa: NPY002 -- the generator that inputs of the user may draw from
    torch().manual_seed(seed)


def has_cuda() -> bool:
    """Whether torch sees a CUDA or ROCm device."""
    return bool(torch().cuda.is_available())


def tensors_in(value: object) -> list[Tensor]:
    """Tensors of a nested value (tuples, lists, dictionaries, data classes), in order."""
    tree = torch_module("utils._pytree")
    leaves = tree.tree_leaves(value)
    return [leaf for leaf in leaves if isinstance(leaf, torch().Tensor)]


def map_tensors(function: Any, value: Any) -> Any:  # noqa: ANN401 -- any nested value
    """The same nested value with every tensor replaced."""
    tree = torch_module("utils._pytree")
    kind = torch().Tensor
    return tree.tree_map(lambda leaf: function(leaf) if isinstance(leaf, kind) else leaf, value)
