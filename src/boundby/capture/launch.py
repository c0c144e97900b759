"""Start the user's program as it always starts, observed through its environment."""

from __future__ import annotations

import errno
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from boundby.capture.host_watch import HostWatch
from boundby.capture.plan import FOLDER, PARENT, PLAN, SWITCH, Plan
from boundby.errors import UsageError

DEFAULT_PARENT = "boundby_runs"
"""Folder below the working directory in which recordings are kept."""
SITE = Path(__file__).resolve().parent / "site"
FORWARDED = ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2")
QUIET_KINETO = "6"
"""Above its highest level: torch 2.13 writes of each window at level 5."""
SENT_BY_A_PROCESS = 0
"""Codes of a signal that a process sent, from whatever container; a terminal's is larger."""
SHELL_OFFSET = 128
"""What a shell adds to the number of the signal that ended a process."""


@dataclass(frozen=True)
class Target:
    """What to run: ``command`` as the operating system takes it, and a short name for it."""

    command: tuple[str, ...]
    name: str


def target_of(script: str, arguments: Sequence[str], *, module: bool) -> Target:
    """The command that runs a script, a module (``-m``) or a launcher on the path.

    Raises:
        UsageError: There is no such file, and no such command either.
    """
    python = (sys.executable, *subprocess._args_from_interpreter_flags())  # type: ignore[attr-defined]  # noqa: SLF001
    if module:
        return Target((*python, "-m", script, *arguments), script.rpartition(".")[2])
    if _is_program(Path(script)):
        return Target((*python, script, *arguments), Path(script).stem)
    launcher = shutil.which(script)
    if launcher is not None:
        return Target((launcher, *arguments), Path(script).stem)
    raise UsageError(f"{script}: no such file", "boundby run train.py, or -m package.module")


def _is_program(path: Path) -> bool:
    """Whether Python runs what is there; a folder without a main module bears a launcher's name."""
    return (path / "__main__.py").is_file() if path.is_dir() else path.exists()


def free_folder(parent: Path, name: str) -> Path:
    """A new folder ``parent/name-N`` that no other run has."""
    parent.mkdir(parents=True, exist_ok=True)
    for number in range(1, 1_000_000):
        folder = parent / f"{name}-{number}"
        try:
            folder.mkdir()
        except FileExistsError:
            continue
        return folder
    raise FileExistsError(parent)


def open_folder(folder: Path) -> Path:
    """A folder that is there and can be written to.

    Raises:
        OSError: It cannot be made, or takes no files.
    """
    folder.mkdir(parents=True, exist_ok=True)
    if not os.access(folder, os.W_OK | os.X_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(folder))
    return folder


def environment_of(plan: Plan, folder: Path) -> dict[str, str]:
    """The variables that make a process observe itself, and all it starts."""
    path = os.environ.get("PYTHONPATH")
    return {
        SWITCH: "1",
        PLAN: plan.encode(),
        FOLDER: str(folder.resolve()),
        PARENT: str(os.getpid()),
        "PYTHONPATH": f"{SITE}{os.pathsep}{path}" if path else str(SITE),
        "KINETO_LOG_LEVEL": os.environ.get("KINETO_LOG_LEVEL", QUIET_KINETO),
    }


def run(
    target: Target,
    variables: dict[str, str],
    *,
    stdout: int | None = None,
    meanwhile: Callable[[], None] = lambda: None,
) -> int:
    """Run it to its end, passing signals on; its exit code, or 128 and its signal.

    Args:
        meanwhile: Called now and then while it runs, at least about once a second.
    """
    process = subprocess.Popen(
        target.command,
        env={**os.environ, **variables},
        stdout=stdout,
    )
    watch = HostWatch(process.pid)
    code = _wait(process, watch, meanwhile)
    watch.write(Path(variables[FOLDER]))
    return code if code >= 0 else SHELL_OFFSET - code


def _wait(process: subprocess.Popen[bytes], watch: HostWatch, meanwhile: Callable[[], None]) -> int:
    """Wait; a signal meant for the program reaches it, and a terminal's does so by itself."""
    if not hasattr(signal, "sigwaitinfo"):
        return _wait_deaf(process, watch)
    caught = {getattr(signal, name) for name in FORWARDED} | {signal.SIGCHLD}
    before = signal.pthread_sigmask(signal.SIG_BLOCK, caught)
    try:
        while process.poll() is None:
            # A child that ends before this line leaves SIGCHLD pending: nothing is missed.
            watch.look()
            came = signal.sigtimedwait(caught, watch.wait_s())
            if came is None:
                meanwhile()
            elif came.si_signo != signal.SIGCHLD and came.si_code <= SENT_BY_A_PROCESS:
                process.send_signal(came.si_signo)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    return process.returncode


def _wait_deaf(process: subprocess.Popen[bytes], watch: HostWatch) -> int:
    """Wait where signals cannot be looked at: the terminal sends them to the program too."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        while True:
            watch.look()
            try:
                return process.wait(watch.wait_s())
            except subprocess.TimeoutExpired:
                continue
    finally:
        signal.signal(signal.SIGINT, before)
