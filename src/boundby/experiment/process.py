"""The parent's side of a trial: a process in a session of its own, asked and waited for."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import boundby
from boundby.capture.plan import SWITCH
from boundby.errors import BoundbyError
from boundby.experiment.machine import resident_now
from boundby.experiment.values import Failure
from boundby.experiment.wire import STDERR, STDOUT, Answer, Request, one_line, read_answer

QUICK_S, SLOW_S = 0.002, 0.05
WATCH_S = 0.2
GRACE_S = 2.0
"""What a process that waits for a request gets to end by itself."""
ENDED = 3
"""Exit code of a script that ended before it was asked to."""
TAIL = 4000


class TrialError(Exception):
    """A process that gave no answer; ``kind`` and ``message`` say why."""

    def __init__(
        self, kind: Failure, message: str, hint: str | None = None, exit_code: int = 125
    ) -> None:
        super().__init__(message)
        self.kind: Failure = kind
        self.message = message
        self.hint = hint
        self.exit_code = exit_code


class Process:
    """One running trial.

    Args:
        request: What it runs.
        environment: Variables beyond those of this process.
        memory_cap: Bytes of resident memory at which it is ended; None for no such watch.
    """

    def __init__(
        self, request: Request, environment: dict[str, str], memory_cap: int | None = None
    ) -> None:
        self.folder = Path(request.folder)
        self._cap = memory_cap
        self._asked = 0
        self._idle = self._is_done = False
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            path = request.write()
            with (
                (self.folder / STDOUT).open("wb") as out,
                (self.folder / STDERR).open("wb") as err,
            ):
                self._process = subprocess.Popen(
                    [sys.executable, "-m", "boundby.experiment.child", str(path)],
                    stdin=subprocess.PIPE,
                    stdout=out,
                    stderr=err,
                    env=_environment(environment),
                    start_new_session=True,
                )
        except OSError as error:
            raise BoundbyError(
                f"{self.folder}: cannot write: {error.strerror}",
                "make room there, or name another --journal folder",
            ) from None

    @property
    def is_over(self) -> bool:
        """Whether it has ended."""
        return self._process.poll() is not None

    def ask(self, operation: str, timeout_s: float, **arguments: Any) -> Answer:  # noqa: ANN401
        """Ask and wait.

        Raises:
            TrialError: It failed, ended, hung or outgrew its memory.
        """
        number, self._asked = self._asked, self._asked + 1
        self._idle = False
        line = json.dumps({"op": operation, **arguments}) + "\n"
        with suppress(OSError):  # it may have ended: what it left tells why
            assert self._process.stdin is not None  # noqa: S101 -- a pipe
            self._process.stdin.write(line.encode())
            self._process.stdin.flush()
        found = self._answer(number, timeout_s)
        self._idle = True
        return found

    def wait(self, timeout_s: float) -> None:
        """Let it run to its end by itself.

        Raises:
            TrialError: It takes longer.
        """
        try:
            self._process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            self.end()
            raise TrialError("hang", f"no end within {timeout_s:.0f} s") from None

    def _answer(self, number: int, timeout_s: float) -> Answer:
        began = watched = time.monotonic()
        pause = QUICK_S
        while (found := self._read(number)) is None:
            now = time.monotonic()
            if self._process.poll() is not None:
                found = self._read(number)
                if found is None:
                    self.end()
                    raise self._ended()
                break
            if now - began > timeout_s:
                self.end()
                raise TrialError("hang", f"no answer within {timeout_s:.0f} s")
            if now - watched > WATCH_S:
                watched = now
                self._watch_memory()
            time.sleep(pause)
            pause = min(pause * 1.5, SLOW_S if now - began > 1 else QUICK_S)
        if "failure" in found:
            self.end()
            told = found.get("hint"), found.get("exit_code", 125)
            raise TrialError(found["failure"], found["message"], *told)
        return found

    def _read(self, number: int) -> Answer | None:
        return read_answer(self.folder, number)

    def _watch_memory(self) -> None:
        used = resident_now(self._process.pid) if self._cap is not None else None
        if used is not None and self._cap is not None and used > self._cap:
            self.end()
            raise TrialError("oom", f"used {used >> 20} MiB of {self._cap >> 20} MiB")

    def _ended(self) -> TrialError:
        code = self._process.returncode
        said = one_line(_last_line(self.folder / STDERR))
        if code < 0:
            name = signal.Signals(-code).name
            kind: Failure = "oom" if -code == signal.SIGKILL else "crash"
            return TrialError(kind, f"ended by {name}{': ' + said if said else ''}")
        if code in (0, ENDED):
            return TrialError("ended", "the program ended before it answered")
        return TrialError("crash", said or f"exit code {code}")

    def end(self) -> None:
        """End it, and whatever it started; does nothing the second time."""
        process = self._process
        if self._is_done:
            return
        self._is_done = True
        with suppress(OSError):
            assert process.stdin is not None  # noqa: S101 -- a pipe
            process.stdin.close()
        if self._idle:
            with suppress(subprocess.TimeoutExpired):
                process.wait(GRACE_S)
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _environment(more: dict[str, str]) -> dict[str, str]:
    """The user's variables, with this boundby on the path, and observed only where asked for."""
    source = str(Path(boundby.__file__).resolve().parent.parent)
    path = more.get("PYTHONPATH") or os.environ.get("PYTHONPATH")
    own = {name: value for name, value in os.environ.items() if name != SWITCH}
    return {
        **own,
        **more,
        "PYTHONPATH": f"{source}{os.pathsep}{path}" if path else source,
        "BOUNDBY_BEGAN": repr(time.time()),
        "KINETO_LOG_LEVEL": os.environ.get("KINETO_LOG_LEVEL", "5"),
    }


def _last_line(path: Path) -> str:
    try:
        lines = path.read_bytes()[-TAIL:].decode("utf-8", "replace").strip().splitlines()
    except OSError:
        return ""
    return lines[-1] if lines else ""
