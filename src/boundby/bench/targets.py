"""Functions named on the command line: ``module:function`` and ``script.py::name``."""

from __future__ import annotations

import importlib.util
import inspect
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from boundby.errors import BoundbyError, CannotTellError, UsageError

EXAMPLE = "name it module:function or script.py::function"


@dataclass(frozen=True)
class Target:
    """A function and the file that holds it; ``file`` is None for built-in ones."""

    name: str
    fn: Callable[..., Any]
    file: str | None


def find_target(text: str) -> Target:
    """Import what a text names. Exceptions of the user's own code are passed on.

    Raises:
        UsageError: It names no module, file or function.
    """
    place, _, name = text.partition("::") if "::" in text else text.rpartition(":")
    if not place or not name:
        raise UsageError(f"{text}: no target", EXAMPLE)
    module = _load_file(place) if "::" in text else _load_module(place)
    found: Any = module
    for part in name.split("."):
        if not hasattr(found, part):
            raise UsageError(f"{text}: no {part!r} in {place}", EXAMPLE)
        found = getattr(found, part)
    if not callable(found):
        raise UsageError(f"{text}: not a function", EXAMPLE)
    file = getattr(sys.modules.get(getattr(found, "__module__", "") or ""), "__file__", None)
    return Target(text, found, file or getattr(module, "__file__", None))


def accepts(fn: Callable[..., object], name: str) -> bool:
    """Whether a function takes an argument of that name."""
    try:
        return name in inspect.signature(fn).parameters
    except (TypeError, ValueError):
        return False


def inputs_of(target: Target | None, **wanted: int) -> tuple[Any, ...]:
    """What an inputs function gives, as a tuple; it gets ``batch`` and ``seed`` if it asks."""
    if target is None:
        return ()
    asked = {name: value for name, value in wanted.items() if accepts(target.fn, name)}
    given = target.fn(**asked)
    return given if isinstance(given, tuple) else (given,)


def _load_module(name: str) -> Any:  # noqa: ANN401 -- a module
    sys.path.insert(0, "")
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        if error.name and name.split(".", maxsplit=1)[0] == error.name.split(".")[0]:
            raise UsageError(f"no module {name!r}", EXAMPLE) from None
        raise
    finally:
        sys.path.remove("")


def _load_file(place: str) -> Any:  # noqa: ANN401 -- a module
    path = Path(place).resolve()
    if not path.is_file():
        raise UsageError(f"{place}: no such file", EXAMPLE)
    if str(path.parent) not in sys.path:
        sys.path.insert(0, str(path.parent))
    loaded = sys.modules.get(path.stem)
    if loaded is not None and getattr(loaded, "__file__", None) == str(path):
        return loaded
    name = path.stem if loaded is None else f"_{path.stem}_under_test"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise UsageError(f"{place}: no Python file", EXAMPLE)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


@contextmanager
def users_own(name: str) -> Iterator[None]:
    """Code of the user: what it raises is told as its own, with its innermost line.

    Raises:
        CannotTellError: The code raised an exception, or ended the program.
    """
    try:
        yield
    except BoundbyError:
        raise
    except SystemExit as error:
        raise CannotTellError(
            f"{name} ended the program (code {_exit_code(error)}){_innermost(error)}",
            "guard the call with if __name__ == '__main__', or leave it out",
        ) from error
    except Exception as error:
        place = _innermost(error)
        text = str(error).strip().splitlines()
        said = f": {text[0]}" if text else ""
        raise CannotTellError(
            f"{name} raised {type(error).__name__}{said}{place}", "--verbose shows the traceback"
        ) from error


def _exit_code(error: SystemExit) -> int:
    """What the process would have ended with: 0 for None, 1 for a message."""
    if error.code is None:
        return 0
    return error.code if isinstance(error.code, int) else 1


def _innermost(error: BaseException) -> str:
    """Last place outside torch, boundby and the interpreter's own modules."""
    foreign = (str(Path(__file__).parent.parent), str(Path(inspect.__file__).parent))
    frames = traceback.extract_tb(error.__traceback__)
    own = [each for each in frames if not each.filename.startswith(foreign)]
    own = [each for each in own if "site-packages" not in each.filename]
    return f" ({own[-1].filename}:{own[-1].lineno} in {own[-1].name})" if own else ""
