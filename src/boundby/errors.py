"""Every error boundby raises on purpose, with what to do next.

One place (``boundby.cli``) turns these into a line on stderr and an exit code.
"""

from __future__ import annotations


class BoundbyError(Exception):
    """An error with one line for the user and a hint that names the next command.

    Attributes:
        message: What is wrong with the named file or option, one line.
        hint: What to do next, or None.
        exit_code: 1 a gate the user asked for failed, 2 usage, 125 cannot tell.
    """

    exit_code = 125

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class UnreadableError(BoundbyError):
    """The file is missing, forbidden, empty, damaged beyond repair or of no known format."""


class CannotTellError(BoundbyError):
    """The input was read, but it does not hold what the question needs."""


class UsageError(BoundbyError):
    """The command line asks for something that does not go together."""

    exit_code = 2


class GateError(BoundbyError):
    """A condition the user asked for (``--expect``, ``--fail-on-regression``) does not hold."""

    exit_code = 1
