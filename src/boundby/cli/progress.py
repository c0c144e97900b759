"""Progress of long work on stderr: only on a terminal, only when it takes long, gone when done.

rich is imported once there is something to draw, so that a pipe and a short file never pay for it.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from boundby.cli.output import Output

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

PATIENCE_S = 0.5
"""Work that is done sooner shows nothing."""


class Reading:
    """What is shown while a recording is read, by bytes, and then while it is diagnosed."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._began = time.monotonic()
        self._bar: Progress | None = None
        self._task: TaskID | None = None

    def __call__(self, done: int, size: int) -> None:
        """So many bytes of the file are read."""
        if self._bar is None:
            if time.monotonic() - self._began < PATIENCE_S:
                return
            self._bar = _bar(self._stream)
            self._task = self._bar.add_task("reading", total=size)
            self._bar.start()
        if self._task is None:
            return
        if done < size:
            self._bar.update(self._task, completed=done, total=size)
        else:
            self._bar.update(self._task, description="diagnosing", completed=0, total=None)

    def close(self) -> None:
        """Take it off the screen."""
        if self._bar is not None:
            self._bar.stop()
            self._bar = None


@contextmanager
def reading(output: Output) -> Iterator[None]:
    """Show progress while recordings are read inside the block, where someone is watching."""
    if output.quiet or not is_watched(sys.stderr):
        yield
        return
    from boundby.read.stream import watched

    shown = Reading(sys.stderr)
    try:
        with watched(shown):
            yield
    finally:
        shown.close()


class Observing:
    """What is shown while a program runs under observation: the pass and its steps.

    The screen is the program's own: this is for one whose output goes elsewhere.
    """

    def __init__(self, place: Path, stream: TextIO) -> None:
        self._place = place
        self._stream = stream
        self._bar: Progress | None = None

    def __call__(self) -> None:
        """A second has passed. Draws in this thread alone: others would catch signals."""
        from boundby.read.capture_folder import captures_in, read_so_far

        found = captures_in(self._place)
        now = read_so_far(found[0]) if found else None
        if now is None:
            return
        if self._bar is None:
            self._bar = _bar(self._stream, by_itself=False)
            self._bar.add_task("", total=None)
            self._bar.start()
        work = f"pass {now.pass_name}" if now.pass_name else "the program runs on"
        self._bar.update(
            self._bar.task_ids[0],
            description=f"{now.steps} steps seen, {work}",
            completed=now.done,
            total=now.planned or None,
        )
        self._bar.refresh()

    def close(self) -> None:
        """Take it off the screen."""
        if self._bar is not None:
            self._bar.stop()


@contextmanager
def observing(place: Path, output: Output, *, is_apart: bool) -> Iterator[Callable[[], None]]:
    """What to call each second while a program runs; it draws where someone is watching.

    Args:
        place: The folder of the recording.
        is_apart: Whether the program's output goes elsewhere than to the screen.
    """
    if output.quiet or not is_apart or not is_watched(sys.stderr):
        yield lambda: None
        return
    shown = Observing(place, sys.stderr)
    try:
        yield shown
    finally:
        shown.close()


def is_watched(stream: TextIO) -> bool:
    """Whether a stream is a terminal that can move its cursor."""
    return stream.isatty() and os.environ.get("TERM") != "dumb"


def _bar(stream: TextIO, *, by_itself: bool = True) -> Progress:
    """A bar with the share that is done and the time that is left."""
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        Progress,
        TaskProgressColumn,
        TextColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TimeRemainingColumn(compact=True),
    )
    return Progress(*columns, console=Console(file=stream), transient=True, auto_refresh=by_itself)
