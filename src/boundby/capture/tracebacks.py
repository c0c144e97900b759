"""The user's traceback without a frame of ours, and a note of how the program ended."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import suppress
from types import TracebackType

from boundby.capture.frames import OWN

Shown = Callable[[type[BaseException], BaseException, TracebackType | None], object]
IMPORTS = "<frozen importlib"
Ended = Callable[[BaseException], None]


def without_own(trace: TracebackType | None) -> TracebackType | None:
    """The same traceback without the frames of this package, and of imports that lead to them.

    Python itself takes the frames of the import system out, where none of ours lies among them.
    """
    kept: list[TracebackType] = []
    while trace is not None:
        if _is_from(trace, OWN):
            while kept and _is_from(kept[-1], IMPORTS):
                kept.pop()
        else:
            kept.append(trace)
        trace = trace.tb_next
    following = None
    for each in reversed(kept):
        each.tb_next = following
        following = each
    return following


def _is_from(trace: TracebackType, place: str) -> bool:
    return trace.tb_frame.f_code.co_filename.startswith(place)


def cleanse(error: BaseException) -> None:
    """Take our frames out of an error and of those it came from."""
    seen: set[int] = set()
    todo: list[BaseException | None] = [error]
    while todo:
        each = todo.pop()
        if each is None or id(each) in seen:
            continue
        seen.add(id(each))
        each.__traceback__ = without_own(each.__traceback__)
        todo += [each.__cause__, each.__context__]


def watch_ending(ended: Ended) -> None:
    """Chain the hook for uncaught errors: note the error, clean it, and show it as before."""
    shown: Shown = sys.excepthook

    def hook(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        with suppress(Exception):
            ended(error)
        cleanse(error)
        shown(kind, error, without_own(trace))

    sys.excepthook = hook
