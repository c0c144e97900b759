"""From an interpreter that starts to an observation that runs: wait for torch, then listen."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

from boundby.capture.plan import Plan, plan_of


class WaitForTorch(MetaPathFinder):
    """Calls something once ``torch`` has been imported, and then leaves the import system.

    A program may ask whether torch is there before it imports it, and may try again where the
    import failed.
    """

    def __init__(self, then: Callable[[], None]) -> None:
        self._then = then
        self._hides = False

    def find_spec(
        self,
        name: str,
        path: Sequence[str] | None = None,
        target: ModuleType | None = None,
    ) -> ModuleSpec | None:
        """The spec that the others find, with something to do after its module has run."""
        if name != "torch":
            return None
        others = [each for each in sys.meta_path if each is not self]
        found = (finder.find_spec(name, path, target) for finder in others)
        spec = next((each for each in found if each is not None), None)
        if spec is None or spec.loader is None:
            return None
        self._hide_own_frames()
        loader, execute = spec.loader, spec.loader.exec_module

        def exec_module(module: ModuleType) -> None:
            del loader.exec_module  # the method of the class is there again
            execute(module)
            sys.meta_path.remove(self)
            self._then()

        loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec

    def _hide_own_frames(self) -> None:
        """Where the import fails or is interrupted, it looks as it would without us.

        Before it begins: an import of ours on the way out of an interrupt would fail too, on the
        modules that are half imported.
        """
        if self._hides:
            return
        from boundby.capture.tracebacks import watch_ending  # noqa: PLC0415 -- start-up stays light

        self._hides = True
        watch_ending(lambda _error: None)


def attach() -> None:
    """Observe this process if its environment asks for it; silent where it has no steps."""
    plan = plan_of(os.environ)
    if plan is None:
        return
    if "torch" in sys.modules:
        _begin(plan)
    else:
        sys.meta_path.insert(0, WaitForTorch(lambda: _begin(plan)))


def _begin(plan: Plan) -> None:
    from boundby.capture import running  # noqa: PLC0415 -- once torch is there

    try:
        running.start(plan)
    except Exception as error:  # noqa: BLE001 -- torch is imported; that it is observed comes second
        running.say(f"boundby: nothing is observed: {error}\n", sys.__stderr__)
