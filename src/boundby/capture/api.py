"""Observation from inside a program: ``observe``, ``observed`` and ``step``."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, TypeVar

from boundby.capture.plan import Plan

if TYPE_CHECKING:
    from typing_extensions import Self

Function = TypeVar("Function", bound=Callable[..., object])

SOURCE = "boundby.step"


def step() -> None:
    """Say that a step has ended; does nothing in a program that is not observed.

    Takes over from whatever else marked steps.
    """
    from boundby.capture import running  # noqa: PLC0415 -- torch is the program's

    for observer in running.current:
        observer.mark(SOURCE)


class observe:  # noqa: N801 -- used as a verb
    """Observe the steps inside a ``with`` block and report to stderr at its end.

    >>> with boundby.observe(active=50) as observed:  # doctest: +SKIP
    ...     for batch in loader:
    ...         train_step(batch)
    ...         observed.step()

    Without a call of ``step`` the steps are found as ``boundby run`` finds them.

    Args:
        wait: Steps left alone first.
        warmup: Least number of steps of warm-up.
        active: Steps timed without an observer; None for as many as fit in a few seconds.
        folder: Where the recording is kept; None for a new folder below ``boundby_runs``.
        report: Whether to report at the end of the block.

    Attributes:
        folder: Where the recording is kept, once the block was entered.

    In a program that is observed from outside, by ``boundby run`` or its environment, a block says
    where steps end and leaves the rest to that observation.

    Raises:
        RuntimeError: On entering, if this process is observed already by another block.
    """

    def __init__(
        self,
        *,
        wait: int = 0,
        warmup: int = 5,
        active: int | None = None,
        folder: str | Path | None = None,
        report: bool = True,
    ) -> None:
        self._plan = Plan(skip=wait, warm_up=warmup, steps=active)
        self._report = report
        self.folder = Path(folder) if folder is not None else None

    def __enter__(self) -> Self:
        from boundby.capture import running  # noqa: PLC0415
        from boundby.capture.launch import DEFAULT_PARENT, free_folder  # noqa: PLC0415

        self._is_guest = running.is_observed_from_outside()
        if self._is_guest:
            self._observer = running.current[0]
            self.folder = running.folder_of_process()
            return self
        if any(not each.is_over for each in running.current):
            raise RuntimeError("this process is observed already")
        if self.folder is None:
            self.folder = free_folder(Path(DEFAULT_PARENT), "observe")
        self._observer = running.start(self._plan, self.folder, reports=False)
        return self

    def step(self) -> None:
        """Say that a step has ended."""
        self._observer.mark(SOURCE)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        from boundby.capture import running  # noqa: PLC0415

        if self._is_guest:
            return
        if error is not None:
            running.note_error(self._observer, error)
        self._observer.close()
        if self._report and self._observer.folder is not None:
            running.report(self._observer.folder.path, sys.stderr)


def observed(function: Function) -> Function:
    """Observe a function each call of which is a step; its report follows when the program ends."""

    @functools.wraps(function)
    def wrapper(*arguments: object, **named: object) -> object:
        from boundby.capture import running  # noqa: PLC0415

        if not running.current:
            running.start(Plan())
        result = function(*arguments, **named)
        step()
        return result

    return wrapper  # type: ignore[return-value]
