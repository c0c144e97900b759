"""Stacks of the running program: told apart, numbered, and written once each."""

from __future__ import annotations

from pathlib import Path
from types import CodeType, FrameType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from boundby.capture.tape import RunFolder

OWN = str(Path(__file__).resolve().parent)
OBSERVER = str(Path(__file__).resolve().with_name("observer.py"))
"""What runs at the marks between steps."""
HIDES = "/torch/_dynamo/eval_frame.py"
"""Where the frames lie that hide a wrapper of this package from torch.compile."""
DEEPEST = 48
"""Frames kept of a stack, from the innermost; a training loop is seldom deeper."""

Key = tuple[tuple[CodeType, int], ...]


def stack_of(frame: FrameType | None) -> Key:
    """Code and line of a frame and those around it, without frames of this package."""
    found: list[tuple[CodeType, int]] = []
    while frame is not None and len(found) < DEEPEST:
        code = frame.f_code
        if not _is_own(code.co_filename, innermost=not found):
            found.append((code, frame.f_lineno or code.co_firstlineno))
        frame = frame.f_back
    return tuple(found)


def is_observing(frame: FrameType | None) -> bool:
    """Whether the observation itself is at work on a stack: it calls nothing of the program's."""
    while frame is not None:
        if frame.f_code.co_filename == OBSERVER:
            return True
        frame = frame.f_back
    return False


def _is_own(file: str, *, innermost: bool) -> bool:
    return file.startswith(OWN) or (innermost and file.replace("\\", "/").endswith(HIDES))


class Stacks:
    """Numbers stacks; a new one is written to the folder when it is first numbered."""

    def __init__(self, folder: RunFolder) -> None:
        self._folder = folder
        self._numbers: dict[Key, int] = {}

    def number(self, key: Key) -> int:
        """The id of a stack."""
        known = self._numbers.get(key)
        if known is not None:
            return known
        number = len(self._numbers)
        self._numbers[key] = number
        frames = [
            # The qualified name is there from Python 3.11 on.
            (
                code.co_filename,
                line,
                getattr(code, "co_qualname", code.co_name),
                code.co_firstlineno,
            )
            for code, line in key
        ]
        self._folder.note("stack", id=number, frames=frames)
        return number
