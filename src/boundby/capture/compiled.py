"""How many frames torch.compile has compiled so far: observation must not change it."""

from __future__ import annotations

import sys


def is_compiling() -> bool:
    """Whether Dynamo traces this call; constant while it does, so that nothing else is traced."""
    import torch  # noqa: PLC0415 -- present in the observed process

    return torch.compiler.is_compiling()


def uses_compile() -> bool:
    """Whether the program has loaded the compiler."""
    return "torch._dynamo" in sys.modules


def compiled_frames() -> int:
    """Frames compiled so far; 0 where the compiler was never loaded."""
    utils = sys.modules.get("torch._dynamo.utils")
    if utils is None:
        return 0
    return int(utils.counters["frames"]["ok"])
