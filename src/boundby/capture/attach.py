"""From an interpreter that starts to an observation that runs: wait for torch, then listen."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import ModuleType

from boundby.capture.plan import Plan, plan_of


class WaitForTorch(MetaPathFinder):
    """Calls something once ``torch`` has been imported, and then leaves the import system."""

    def __init__(self, then: Callable[[], None]) -> None:
        self._then = then

    def find_spec(
        self,
        name: str,
        path: Sequence[str] | None = None,  # noqa: ARG002 -- the import system's
        target: ModuleType | None = None,  # noqa: ARG002
    ) -> ModuleSpec | None:
        """The spec that the others find, with something to do after its module has run."""
        if name != "torch":
            return None
        sys.meta_path.remove(self)
        spec = find_spec(name)
        if spec is None or spec.loader is None:
            return None
        loader, execute = spec.loader, spec.loader.exec_module

        def exec_module(module: ModuleType) -> None:
            del loader.exec_module  # the method of the class is there again
            try:
                execute(module)
            except BaseException:
                _hide_own_frames()
                raise
            self._then()

        loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec


def _hide_own_frames() -> None:
    """The import fails as it would without us, and where nobody catches that, it also looks so."""
    from boundby.capture.tracebacks import watch_ending  # noqa: PLC0415 -- start-up stays light

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
