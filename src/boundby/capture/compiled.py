"""How many frames torch.compile has compiled so far: observation must not change it."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, TypeVar

Call = TypeVar("Call", bound=Callable[..., Any])


def is_compiling() -> bool:
    """Whether Dynamo traces this call; constant while it does, so that nothing else is traced."""
    import torch

    return torch.compiler.is_compiling()


def uses_compile() -> bool:
    """Whether the program has compiled, or tried to; optimizers alone load the compiler too."""
    utils = sys.modules.get("torch._dynamo.utils")
    return utils is not None and bool(utils.counters["frames"]["total"])


def untraced(function: Call) -> Call:
    """A callback as Dynamo must see it: not at all.

    A signal handler or a warning hook can run in the middle of compiled code, where Dynamo looks at
    each new frame, and would compile it.
    """
    dynamo = sys.modules.get("torch._dynamo")
    return function if dynamo is None else dynamo.disable(function)


def compiled_frames() -> int:
    """Frames compiled so far; 0 where the compiler was never loaded."""
    utils = sys.modules.get("torch._dynamo.utils")
    if utils is None:
        return 0
    return int(utils.counters["frames"]["ok"])
