"""The command line. ``main`` is the one place where errors become text and an exit code."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Sequence
from dataclasses import dataclass

import click

from boundby.cli.group import boundby
from boundby.cli.output import (
    DISK_FULL,
    StdoutClosedError,
    hold_closed_stdout,
    is_of_stdout,
    stdout_failed,
)
from boundby.errors import BoundbyError

USAGE = 2
CANNOT_TELL = 125
"""Also for failures of the tool itself: ``git bisect run`` skips a commit on 125."""

INTERRUPTED = 130
PIPE_CLOSED = 141
"""What a shell reports for a process that wrote to a closed pipe."""


@dataclass
class Settings:
    """What ``main`` must know after a command failed."""

    verbose: bool = False


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command line and return its exit code; errors end up as text on stderr."""
    settings = Settings()
    hold_closed_stdout()
    stdout = sys.stdout
    try:
        code = boundby.main(
            args=None if arguments is None else list(arguments),
            prog_name="boundby",
            standalone_mode=False,
            obj=settings,
        )
        sys.stdout.flush()
    except (KeyboardInterrupt, click.Abort):
        return _fail("interrupted", None, INTERRUPTED)
    except SystemExit:
        if sys.stdout is not stdout:  # click wraps it and leaves when it goes away amid help
            return PIPE_CLOSED
        raise
    except Exception as error:  # noqa: BLE001 -- the one place where every error ends
        return _report(error, settings)
    return code if isinstance(code, int) else 0


def _report(error: Exception, settings: Settings) -> int:
    """Write what is wrong and what to do next; return the exit code."""
    if isinstance(error, StdoutClosedError):
        return PIPE_CLOSED
    if isinstance(error, OSError) and is_of_stdout(error):
        error = stdout_failed(error)  # help and versions, which click writes
    if settings.verbose:
        traceback.print_exception(error)
    if isinstance(error, BoundbyError):
        return _fail(error.message, error.hint, error.exit_code)
    if isinstance(error, OSError) and error.errno in DISK_FULL:
        return _fail(
            f"cannot write: {error.strerror}", "make room, or write elsewhere", CANNOT_TELL
        )
    if isinstance(error, click.ClickException):
        return _fail(error.format_message(), _help_of(error), USAGE)
    hint = None if settings.verbose else "run it again with --verbose and report the traceback"
    return _fail(f"internal error: {type(error).__name__}: {error}", hint, CANNOT_TELL)


def _fail(message: str, hint: str | None, code: int) -> int:
    from boundby.cli.errortext import complain

    complain(message, hint)
    return code


def _help_of(error: click.ClickException) -> str | None:
    ctx = getattr(error, "ctx", None)
    return f"{ctx.command_path} --help" if ctx else None
