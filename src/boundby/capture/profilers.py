"""Profilers of the program beside ours: the interface beneath serves one at a time.

A second one that is prepared while another is, or while it records, breaks the first or kills the
process (seen with torch 2.13 on a CPU).
"""

from __future__ import annotations

import functools
import gc
import threading
from collections.abc import Callable
from typing import Any


def program_profiles() -> bool:
    """Whether a profiler of the program records or is prepared to, in this thread or another."""
    import torch

    if torch.autograd._profiler_enabled():  # noqa: SLF001
        return True
    kind = torch.autograd.profiler.profile
    return any(_is_open(each) for each in gc.get_objects() if issubclass(type(each), kind))


def _is_open(profiler: Any) -> bool:  # noqa: ANN401 -- torch's
    return bool(profiler.entered) and profiler.kineto_results is None


def give_way(close: Callable[[], None]) -> Callable[[], None]:
    """Call something before a profiler of this thread is prepared from now on; the way back."""
    from torch.autograd.profiler import profile

    own, thread = profile._prepare_trace, threading.get_ident()  # noqa: SLF001

    @functools.wraps(own)
    def _prepare_trace(profiler: Any) -> Any:  # noqa: ANN401 -- torch's
        if threading.get_ident() == thread:
            close()
        return own(profiler)

    def undo() -> None:
        profile._prepare_trace = own  # noqa: SLF001

    profile._prepare_trace = _prepare_trace  # noqa: SLF001
    return undo
