"""Where one step ends and the next begins, without a change to the program.

Best first: the program's own ``boundby.step()``, updates by an optimizer, batches from a loader,
calls of the outermost module. The source in use is written to the folder.
"""

from __future__ import annotations

import sys
import threading
from collections import Counter
from collections.abc import Callable
from types import FrameType
from typing import Any

from boundby.capture.compiled import is_compiling

Mark = Callable[[str], None]
"""Called at the end of a step with the name of its source."""

RANKS = {"boundby.step": 3, "optimizer": 2, "loader": 1, "module": 0}
"""A higher source takes over from a lower one, and the passes begin again."""
DECIDE = 24
"""Updates after which it is settled which of several optimizers closes a step."""


class OptimizerSteps:
    """A mark at each update; of several optimizers (GAN) the one that updates least, then last.

    Of threads that train side by side the first is listened to.
    """

    def __init__(self, mark: Mark) -> None:
        self._mark = mark
        self._counts: Counter[int] = Counter()
        self._closing: int | None = None
        self._undecided = DECIDE
        self._thread: int | None = None
        self._handle: Any = None

    def install(self) -> None:
        """Register one global hook; torch calls it after every update of every optimizer."""
        from torch.optim.optimizer import register_optimizer_step_post_hook

        self._handle = register_optimizer_step_post_hook(self._after_step)

    def remove(self) -> None:
        """Take the hook away."""
        if self._handle is not None:
            self._handle.remove()
            self._handle = None

    def _after_step(self, optimizer: object, _args: object, _kwargs: object) -> None:
        if is_compiling():
            return
        self._thread = self._thread or threading.get_ident()
        if threading.get_ident() != self._thread:
            return
        if self._undecided:
            self._count(id(optimizer))
        if id(optimizer) == self._closing:
            self._mark("optimizer")

    def _count(self, which: int) -> None:
        self._undecided -= 1
        self._counts[which] += 1
        order = list(self._counts)
        self._closing = min(order, key=lambda i: (self._counts[i], -order.index(i)))


class ModuleSteps:
    """A mark at each call of the outermost module, found by looking at the running stack.

    Only where nothing else marks steps. One module gets a hook; a global hook would be seen by
    torch.compile in every module.
    """

    LOOKS = 3
    """Times the same module must be seen outermost."""
    EVERY_S = 0.25
    SELDOM_S = 5.0
    SLOWER = 1.1
    """A process without modules is looked at less and less."""
    PATIENCE_S = 1.0

    def __init__(self, mark: Mark, is_needed: Callable[[], bool]) -> None:
        self._mark = mark
        self._is_needed = is_needed
        self._seen: Counter[int] = Counter()
        self._remove: Callable[[], None] | None = None
        self._over = threading.Event()

    def install(self) -> None:
        """Look at the main thread from time to time until a module is found or none is needed."""
        threading.Thread(target=self._watch, name="boundby-watch", daemon=True).start()

    def remove(self) -> None:
        """Stop looking and take the hook away."""
        self._over.set()
        if self._remove is not None:
            self._remove()
            self._remove = None

    def _watch(self) -> None:
        main = threading.main_thread().ident
        self._over.wait(self.PATIENCE_S)
        every = self.EVERY_S
        while not self._over.wait(every) and self._is_needed():
            every = min(every * self.SLOWER, self.SELDOM_S)
            module = outermost_module(sys._current_frames().get(main or 0))  # noqa: SLF001
            if module is None:
                continue
            self._seen[id(module)] += 1
            if self._seen[id(module)] >= self.LOOKS:
                self._remove = hook_call(module, lambda: self._mark("module"))
                return


def outermost_module(frame: FrameType | None) -> Any:  # noqa: ANN401 -- an nn.Module
    """The module whose call is furthest out on a stack; None where there is none."""
    found = None
    while frame is not None:
        if frame.f_code.co_name == "_wrapped_call_impl":
            found = frame.f_locals.get("self", found)
        frame = frame.f_back
    return found


def hook_call(module: Any, called: Callable[[], None]) -> Callable[[], None]:  # noqa: ANN401
    """Call something after each call of one module; the way back.

    A module compiled in place runs its compiled call instead of hooks: that is wrapped.
    """
    compiled = getattr(module, "_compiled_call_impl", None)
    if compiled is None:

        def after(*_arguments: object) -> None:
            if not is_compiling():
                called()

        handle = module.register_forward_hook(after)
        return handle.remove

    def call(*arguments: object, **named: object) -> object:
        result = compiled(*arguments, **named)
        called()
        return result

    module._compiled_call_impl = call  # noqa: SLF001 -- the only place before the compiled code

    def undo() -> None:
        module._compiled_call_impl = compiled  # noqa: SLF001

    return undo
