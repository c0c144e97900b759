"""Functions named on the command line: ``module:function`` and ``script.py::name``."""

from __future__ import annotations

import functools
import importlib.util
import inspect
import re
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from boundby.bench.framework import set_seeds
from boundby.errors import BoundbyError, CannotTellError, UsageError

EXAMPLE = "name it module:function or script.py::function"
WORKER_RAISED = re.compile(r"Caught \w+ in DataLoader worker")
"""How torch begins the message of an exception that it carries over from a worker."""
WORKER_DIED = "exited unexpectedly"
PLACE = re.compile(r'File "([^"]+)", line (\d+), in (\S+)')
LAZY = {
    "a generator function": inspect.isgeneratorfunction,
    "a coroutine function": inspect.iscoroutinefunction,
    "an asynchronous generator function": inspect.isasyncgenfunction,
}
"""Functions whose body does not run when they are called."""


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


def load_target(text: str) -> Target:
    """Import what a text names; what its code raises meanwhile is told as its own."""
    with users_own(text):
        return find_target(text)


def refuse_lazy(fn: object, name: str) -> None:
    """Refuse what cannot be measured by calling it.

    Raises:
        UsageError: It cannot be called, or a call only makes a generator or a coroutine.
    """
    if not callable(fn):
        raise UsageError(f"{name}: not a function but {type(fn).__name__}", "give what to call")
    inner = inspect.unwrap(opened(fn)[0])
    for kind, is_so in LAZY.items():
        if is_so(inner):
            raise UsageError(
                f"{name}: {kind}: a call runs none of it", "wrap it in a function that runs it"
            )


def opened(fn: Callable[..., object]) -> tuple[Callable[..., object], tuple[Any, ...]]:
    """The function inside a ``functools.partial``, and the arguments that it holds."""
    held: tuple[Any, ...] = ()
    while isinstance(fn, functools.partial):
        held = (*fn.args, fn.keywords, *held)
        fn = fn.func
    return fn, held


def accepts(fn: Callable[..., object], name: str) -> bool:
    """Whether a function takes an argument of that name."""
    try:
        return name in inspect.signature(fn).parameters
    except (TypeError, ValueError):
        return False


def inputs_of(target: Target | None, **wanted: int) -> tuple[Any, ...]:
    """What an inputs function gives, as a tuple; it gets ``batch`` and ``seed`` if it asks.

    Generators of random numbers are seeded before, so that inputs are the same each time.
    """
    if target is None:
        return ()
    asked = {name: value for name, value in wanted.items() if accepts(target.fn, name)}
    set_seeds(wanted.get("seed", 0))
    with users_own(target.name):
        given = target.fn(**asked)
    return given if isinstance(given, tuple) else (given,)


def _load_module(name: str) -> Any:  # noqa: ANN401 -- a module
    sys.path.insert(0, "")
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        if error.name and f"{name}.".startswith(f"{error.name}."):
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
def users_own(*names: str) -> Iterator[None]:
    """Code of the user: what it prints goes to stderr, what it raises is told as its own.

    Args:
        names: Targets that run inside; the one that an exception came through is named.

    Raises:
        CannotTellError: The code raised an exception, or ended the program.
    """
    try:
        with redirect_stdout(sys.stderr):
            yield
    except BoundbyError:
        raise
    except SystemExit as error:
        raise CannotTellError(
            f"{_blamed(names, error)} ended the program (code {_exit_code(error)})"
            f"{_innermost(error)}",
            "guard the call with if __name__ == '__main__', or leave it out",
        ) from error
    except Exception as error:
        hint = "--verbose shows the traceback"
        if WORKER_DIED in str(error):
            hint = "num_workers=0 shows what the worker did"
        raise CannotTellError(f"{_blamed(names, error)} raised {said_by(error)}", hint) from error


def said_by(error: Exception) -> str:
    """An exception in a line: type, message and place; of one in a worker those it had there."""
    lines = str(error).strip().splitlines()
    if lines and WORKER_RAISED.match(lines[0]):
        kind, _, message = lines[-1].partition(": ")
        places = [each for each in PLACE.findall(str(error)) if not _is_foreign(each[0])]
        place = " ({}:{} in {})".format(*places[-1]) if places else ""
        said = f": {message}" if message else ""
        return f"{kind}{said}{place} in a worker of the loader"
    said = f": {lines[0]}" if lines else ""
    return f"{type(error).__name__}{said}{_innermost(error)}"


def _exit_code(error: SystemExit) -> int:
    """What the process would have ended with: 0 for None, 1 for a message."""
    if error.code is None:
        return 0
    return error.code if isinstance(error.code, int) else 1


def _blamed(names: tuple[str, ...], error: BaseException) -> str:
    """The target whose function is in the traceback; all of them where that is not just one."""
    frames = {each.name for each in traceback.extract_tb(error.__traceback__)}
    functions = {name: name.rpartition(":")[2].rpartition(".")[2] for name in names}
    found = [
        name
        for name, function in functions.items()
        if function in frames or f"{function}() " in f"{error} "
    ]
    return found[0] if len(set(found)) == 1 else " or ".join(dict.fromkeys(names))


def _innermost(error: BaseException) -> str:
    """Last place outside torch, boundby and the interpreter's own modules."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [each for each in frames if not _is_foreign(each.filename)]
    return f" ({own[-1].filename}:{own[-1].lineno} in {own[-1].name})" if own else ""


def _is_foreign(file: str) -> bool:
    foreign = (str(Path(__file__).parent.parent), str(Path(inspect.__file__).parent))
    return file.startswith((*foreign, "<")) or "site-packages" in file
