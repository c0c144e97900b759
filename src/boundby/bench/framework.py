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

NO_MEMORY = ("out of memory", "can't allocate memory")
"""Words of torch's errors: its own allocator on a device, and that of the CPU."""


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


def chain_of(error: BaseException) -> list[BaseException]:
    """An error with those that led to it, the last first."""
    chain = [error]
    while (before := chain[-1].__cause__ or chain[-1].__context__) is not None:
        chain.append(before)
    return chain


def is_out_of_memory(error: BaseException) -> bool:
    """Whether an error, or one that led to it, is of memory: of the device or of the host."""
    return any(
        isinstance(each, MemoryError) or any(words in str(each).lower() for words in NO_MEMORY)
        for each in chain_of(error)
    )
