"""Which lines make the host wait for the device: wrappers and the device's own debug mode.

On a device the debug mode of torch tells that a wait happened, and the wrappers tell by what;
without one the wrappers count what would wait. Under torch.compile the wrappers are hidden from
Dynamo, or, on a device, left away. All of it is gone after the pass.
"""

from __future__ import annotations

import functools
import sys
import warnings
from collections.abc import Callable, Iterator
from time import perf_counter_ns
from types import FrameType
from typing import Any

from boundby.capture.compiled import untraced, uses_compile
from boundby.capture.device import has_device
from boundby.capture.frames import Stacks, stack_of
from boundby.capture.tape import Tape
from boundby.read.capture_folder import WAITS, Row

KIND_OF = {
    **dict.fromkeys(("item", "tolist", "is_nonzero", "__bool__", "__float__", "__int__"), "item"),
    **dict.fromkeys(("__index__", "__format__", "__repr__"), "item"),
    **dict.fromkeys(("cpu", "numpy", "__array__", "to", "cuda", "copy_"), "host-copy"),
    **dict.fromkeys(("nonzero", "masked_select", "unique", "__getitem__"), "data-dependent-shape"),
}
"""Methods of a tensor after which the host may have to wait, and what that wait is."""

MESSAGE = r"called a synchronizing CUDA operation|Synchronization debug mode"

Method = Callable[..., Any]


class SyncFinder:
    """Notes each wait of the host with its stack while it is installed.

    Attributes:
        enters_fp16, scales_loss: What was seen of mixed precision.
    """

    def __init__(self, tape: Tape, stacks: Stacks) -> None:
        self.enters_fp16 = self.scales_loss = False
        self._tape = tape
        self._stacks = stacks
        self._inside: str | None = None
        self._undo: list[Callable[[], None]] = []
        self._counts_calls = not has_device()

    def install(self) -> None:
        """Begin; whatever cannot be watched is left out."""
        if has_device():
            self._listen()
        if not (uses_compile() and has_device()):
            self._wrap_methods()
        self._wrap_waits()
        if not uses_compile():
            self._watch_precision()

    def remove(self) -> None:
        """Put everything back, last first."""
        while self._undo:
            self._undo.pop()()

    def _found(self, kind: str) -> None:
        number = self._stacks.number(stack_of(sys._getframe(1)))  # noqa: SLF001
        self._tape.put(Row.WAIT, perf_counter_ns(), number, WAITS.index(kind))

    def _listen(self) -> None:
        import torch

        shown, mode = warnings.showwarning, torch.cuda.get_sync_debug_mode()

        def show(message: Any, *rest: Any, **named: Any) -> None:  # noqa: ANN401
            text = str(message)
            if "called a synchronizing CUDA operation" in text:
                self._found(self._inside or "other")
            elif "Synchronization debug mode" not in text:
                shown(message, *rest, **named)

        hook = untraced(show)
        warnings.showwarning = hook
        warnings.filterwarnings("always", message=MESSAGE)
        ours = warnings.filters[0]
        torch.cuda.set_sync_debug_mode("warn")

        def undo() -> None:
            torch.cuda.set_sync_debug_mode(mode)
            if warnings.showwarning is hook:
                warnings.showwarning = shown
            filters: Any = warnings.filters  # typed as read-only
            if ours in filters:
                filters.remove(ours)
                getattr(warnings, "_filters_mutated", lambda: None)()

        self._undo.append(undo)

    def _wrap_methods(self) -> None:
        import torch

        for name, kind in KIND_OF.items():
            original = getattr(torch.Tensor, name, None)
            if original is not None:
                wrapper = hidden_from_dynamo(self._around(original, kind, WAITS_ON.get(name)))
                self._replace(torch.Tensor, name, wrapper)

    def _wrap_waits(self) -> None:
        """Waits that a program asks for by name; the debug mode does not report them."""
        import torch

        owners = ((torch.cuda, "synchronize"), (torch.cuda.Stream, "synchronize"))
        for owner, name in (*owners, (torch.cuda.Event, "synchronize")):
            original = getattr(owner, name, None)
            if original is not None:
                self._replace(
                    owner, name, self._around(original, "explicit-sync", None, always=True)
                )

    def _watch_precision(self) -> None:
        """Whether autocast is entered in fp16, and whether anything scales the loss."""
        import torch

        enter, scale = torch.autocast.__enter__, torch.amp.GradScaler.scale

        @functools.wraps(enter)
        def __enter__(context: Any) -> Any:  # noqa: ANN401, N807 -- as in torch
            self.enters_fp16 |= context.fast_dtype == torch.float16
            return enter(context)

        @functools.wraps(scale)
        def scaled(scaler: Any, outputs: Any) -> Any:  # noqa: ANN401
            self.scales_loss |= scaler.is_enabled()
            return scale(scaler, outputs)

        self._replace(torch.autocast, "__enter__", __enter__)
        self._replace(torch.amp.GradScaler, "scale", scaled)

    def _around(
        self,
        original: Method,
        kind: str,
        waits_on: Callable[..., bool] | None,
        *,
        always: bool = False,
    ) -> Method:
        """A method that says, while it runs, what a wait inside it is; the outermost says it."""

        @functools.wraps(original)
        def wrapper(*arguments: Any, **named: Any) -> Any:  # noqa: ANN401
            if self._inside is not None or (waits_on and not waits_on(*arguments, **named)):
                return original(*arguments, **named)
            self._inside = kind
            try:
                if always or (self._counts_calls and not called_by_torch()):
                    self._found(kind)
                return original(*arguments, **named)
            finally:
                self._inside = None

        return wrapper

    def _replace(self, owner: Any, name: str, new: Method) -> None:  # noqa: ANN401
        own = vars(owner).get(name)
        setattr(owner, name, new)
        if own is None:
            self._undo.append(functools.partial(delattr, owner, name))
        else:
            self._undo.append(functools.partial(setattr, owner, name, own))


def called_by_torch() -> bool:
    """Whether a wrapped method was called from inside torch: there it need not wait on a device."""
    frame: FrameType | None = sys._getframe(2)  # noqa: SLF001 -- the caller of the wrapper
    while frame is not None and frame.f_code.co_filename.endswith("_dynamo/eval_frame.py"):
        frame = frame.f_back
    return frame is not None and "/torch/" in frame.f_code.co_filename


def _masks(_tensor: object, index: object) -> bool:
    """Whether an index holds a boolean mask, whose number of hits the host must know."""
    return any(str(getattr(each, "dtype", "")) == "torch.bool" for each in _parts(index))


def _parts(index: object) -> Iterator[object]:
    yield from index if isinstance(index, tuple) else (index,)


def _moves(tensor: Any, *arguments: Any, **named: Any) -> bool:  # noqa: ANN401
    """Whether ``to``, ``copy_`` or ``cpu`` cross between host and device, or may."""
    others = (*arguments, *named.values())
    devices = [getattr(each, "device", each) for each in others]
    kinds = {str(each).split(":")[0] for each in devices if str(each).split(":")[0] in DEVICES}
    return bool(kinds - {tensor.device.type})


DEVICES = frozenset({"cpu", "cuda"})
WAITS_ON: dict[str, Callable[..., bool]] = {"__getitem__": _masks, "to": _moves, "copy_": _moves}
"""When a method may wait at all, by its arguments; the others always may."""


def hidden_from_dynamo(wrapper: Method) -> Method:
    """The wrapper as Dynamo must see it: not at all.

    Its table of tensor methods is made once and lazily; made after a method was replaced, it would
    lack that method.
    """
    rules = sys.modules.get("torch._dynamo.trace_rules")
    if rules is None:
        return wrapper
    rules.get_tensor_method()
    if not uses_compile():
        return wrapper
    hidden: Method = sys.modules["torch._dynamo"].disable(wrapper)
    return hidden
