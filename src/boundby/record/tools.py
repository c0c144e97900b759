"""Running a profiler around the user's command: finding it, and keeping exit codes apart."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from boundby.errors import BoundbyError

_KEEP_STATUS = (
    'trap : INT; status="$1"; shift; "$@"; code=$?; echo "$code" > "$status"; exit "$code"'
)
"""Runs a command and leaves its exit code in a file, after an interrupt too: profilers return
codes of their own."""


class MissingToolError(BoundbyError):
    """A tool that is not on PATH; the hint says how to get it."""


@dataclass(frozen=True)
class Tool:
    """A profiler that comes from elsewhere.

    Attributes:
        name: Of its executable.
        product: As its vendor calls it.
        package: Name in the package repository for CUDA.
        page: Where to get it.
    """

    name: str
    product: str
    package: str
    page: str

    def find(self) -> str:
        """Path of the executable.

        Raises:
            MissingToolError: It is not on PATH.
        """
        found = shutil.which(self.name)
        if found is None:
            raise MissingToolError(
                f"{self.name} is not on PATH: it comes with {self.product}",
                f"get it from {self.page}, as the package {self.package} of the CUDA repository, "
                f"or add the folder of {self.name} to PATH",
            )
        return found


@dataclass(frozen=True)
class Ended:
    """How a recording ended.

    Attributes:
        tool_code: Exit code of the profiler.
        script_code: Exit code of the user's command; None where it never ended by itself.
    """

    tool_code: int
    script_code: int | None


def run_around(tool: Sequence[str], command: Sequence[str], folder: Path) -> Ended:
    """Run a profiler around a command; what either prints goes to stderr.

    Args:
        tool: The profiler with its options.
        command: The user's command.
        folder: Where the exit code is left.
    """
    status = folder / "status"
    whole = [*tool, "/bin/sh", "-c", _KEEP_STATUS, "sh", str(status), *command]
    code = run(whole)
    text = status.read_text("utf-8").strip() if status.exists() else ""
    return Ended(code, int(text) if text.isdigit() else None)


def run(command: Sequence[str]) -> int:
    """Run a command with its output on stderr; its exit code.

    An interrupt reaches the command too, which then writes what it has, so it is waited for.
    """
    with subprocess.Popen(command, stdout=sys.stderr.fileno()) as child:
        try:
            return child.wait()
        except KeyboardInterrupt:
            return child.wait()


def ask(command: Sequence[str]) -> str:
    """What a command prints; empty where it fails."""
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    return done.stdout + done.stderr
