"""Hidden synchronisation while a piece of code runs: which call waits for the device, and where.

Calls are recognised by their operator, on tensors of any device, so that a test without a GPU
finds what would wait on one; on a GPU torch's own sync debug mode is read as well.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any
from unittest.mock import patch

from boundby.bench.framework import has_cuda, tensors_in, torch, torch_module

PACKAGE = str(Path(__file__).parent.parent)

WAITING = {
    "aten._local_scalar_dense": "reads a value (item, float, bool, int, if)",
    "aten.nonzero": "its size depends on values (nonzero, a mask as index)",
    "aten.masked_select": "its size depends on values",
    "aten._unique2": "its size depends on values",
    "aten.unique_consecutive": "its size depends on values",
    "aten.unique_dim": "its size depends on values",
    "aten.equal": "gives a Python bool",
    "aten.is_nonzero": "gives a Python bool",
    "aten.repeat_interleave": "its size depends on values",
}
"""Operators after which the host holds a value of the device."""
INDEXING = ("aten.index", "aten.index_put", "aten.index_put_")
"""Operators that wait where an index is a mask."""
METHODS = ("tolist", "numpy")
"""Methods that read values without an operator of their own."""
DEBUG_TEXT = "called a synchronizing CUDA operation"


@dataclass(frozen=True)
class HiddenSync:
    """One wait: what waited, why, and where in the user's code."""

    what: str
    why: str
    file: str
    line: int
    function: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line} in {self.function}: {self.what} {self.why}"


@contextmanager
def watch_syncs() -> Iterator[list[HiddenSync]]:
    """Collect waits until the block ends; one entry a place and operator."""
    found: list[HiddenSync] = []

    def note(what: str, why: str) -> None:
        place = _user_frame()
        entry = HiddenSync(what, why, *place)
        if place[1] and entry not in found:
            found.append(entry)

    with ExitStack() as stack:
        for name in METHODS:
            stack.enter_context(_patched(torch().Tensor, name, f"Tensor.{name}", note))
        stack.enter_context(_patched(torch().cuda, "synchronize", "torch.cuda.synchronize", note))
        if has_cuda():
            stack.enter_context(_debug_mode(note))
        stack.enter_context(_mode(note))
        yield found


Note = Callable[[str, str], None]


def _patched(owner: Any, name: str, shown: str, note: Note) -> Any:  # noqa: ANN401 -- a patch
    inner = getattr(owner, name)

    def watched(*args: Any, **keywords: Any) -> Any:  # noqa: ANN401 -- passes on
        note(shown, "waits for the device")
        return inner(*args, **keywords)

    return patch.object(owner, name, watched)


def _mode(note: Note) -> Any:  # noqa: ANN401 -- a dispatch mode
    base = torch_module("utils._python_dispatch").TorchDispatchMode

    class Watch(base):  # type: ignore[misc, valid-type]
        def __torch_dispatch__(
            self,
            func: Any,  # noqa: ANN401 -- torch's protocol
            types: Any,  # noqa: ANN401
            args: Any = (),  # noqa: ANN401
            kwargs: Any = None,  # noqa: ANN401
        ) -> Any:  # noqa: ANN401
            keywords = kwargs or {}
            name = str(func).rpartition(".")[0]
            if name in WAITING:
                note(name, WAITING[name])
            elif name in INDEXING and _has_mask(args):
                note(name, "counts the elements of a mask")
            elif name == "aten._to_copy" and _reads_back(args, keywords):
                note(name, "copies to the host and waits")
            return func(*args, **keywords)

    return Watch()


def _has_mask(args: Any) -> bool:  # noqa: ANN401 -- torch's protocol
    masks = (torch().bool, torch().uint8)
    return any(each.dtype in masks for each in tensors_in(args[1]))


def _reads_back(args: Any, keywords: dict[str, Any]) -> bool:  # noqa: ANN401 -- torch's protocol
    device = keywords.get("device")
    sources = tensors_in(args)
    if device is None or not sources or keywords.get("non_blocking"):
        return False
    return torch().device(device).type == "cpu" and sources[0].device.type != "cpu"


@contextmanager
def _debug_mode(note: Note) -> Iterator[None]:
    """Torch's own debug mode, which warns from the call that waits."""
    before = torch().cuda.get_sync_debug_mode()
    shown = warnings.showwarning

    def show(message: Any, *args: Any, **keywords: Any) -> None:  # noqa: ANN401 -- warnings' own
        if DEBUG_TEXT in str(message):
            note("a CUDA call", "waits for the device")
        else:
            shown(message, *args, **keywords)

    with warnings.catch_warnings():
        warnings.filterwarnings("always", message=DEBUG_TEXT)
        warnings.showwarning = show
        torch().cuda.set_sync_debug_mode("warn")
        try:
            yield
        finally:
            torch().cuda.set_sync_debug_mode(before)


def _user_frame() -> tuple[str, int, str]:
    """Innermost frame outside torch and the standard library's own.

    Nothing where that is boundby's: what ``gpubench`` waits for is not hidden in the user's code.
    """
    foreign = (str(Path(torch().__file__).parent), __file__, "<", warnings.__file__)
    frame: FrameType | None = sys._getframe(1)  # noqa: SLF001 -- documented; nothing else is cheap
    while frame is not None:
        file = frame.f_code.co_filename
        if file.startswith(PACKAGE) and not file.startswith(foreign):
            break
        if not file.startswith(foreign):
            return file, frame.f_lineno, frame.f_code.co_name
        frame = frame.f_back
    return "", 0, ""
