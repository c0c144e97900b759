"""The process of one trial: ``python -m boundby.experiment.child REQUEST``.

It answers requests until its stdin ends. What the user's code prints is kept in two files; what
it raises is an answer like any other, with the kind of failure.
"""

from __future__ import annotations

import ctypes
import json
import os
import select
import signal
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path

from boundby.bench.framework import chain_of, is_out_of_memory
from boundby.errors import BoundbyError
from boundby.experiment.process import ENDED
from boundby.experiment.values import Failure
from boundby.experiment.wire import Answer, one_line, read_request, write_answer, write_failure

Operations = dict[str, Callable[..., Answer]]
STOP = "stop"
PR_SET_PDEATHSIG = 1
"""Of ``linux/prctl.h``."""
COMPILERS = ("torch._dynamo", "torch._inductor", "torch._functorch", "triton")


def main(path: str) -> int:
    """Serve one request file; the exit code of the process."""
    began = float(os.environ.get("BOUNDBY_BEGAN", time.time()))
    end_with_parent()
    request = read_request(Path(path))
    commands = read_commands()
    folder = Path(request.folder)
    from boundby.experiment.workload import is_script  # noqa: PLC0415 -- loads the bench

    try:
        if request.observed:
            import_module("torch")  # plainly: the observer waits for this import
        limit_memory(request.memory_cap)
        if is_script(request.target):
            from boundby.experiment.scripted import run_script  # noqa: PLC0415 -- scripts alone

            missing = run_script(request, commands, began)
            if missing is not None:
                write_failure(folder, missing)
            return ENDED
        from boundby.experiment.session import WorkloadSession  # noqa: PLC0415 -- loads torch

        sys.path.insert(0, str(Path.cwd()))
        serve(WorkloadSession(request, began).operations(), commands, folder)
    except BaseException as error:  # noqa: BLE001 -- whatever the user's code raises is an answer
        write_failure(folder, failed(error))
    return 0


def end_with_parent() -> None:
    """Have the system end this process when the one that asks is gone, however that ended.

    A trial that hangs would hold its memory of the device for ever. Linux alone can.
    """
    if not sys.platform.startswith("linux"):
        return
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    gone = select.poll()
    gone.register(sys.stdin.fileno(), 0)
    if gone.poll(0):  # before the line above
        os._exit(0)


def serve(operations: Operations, commands: Iterator[tuple[int, Answer]], folder: Path) -> None:
    """Answer requests until there are no more; a failure is answered, and ends it."""
    for number, command in commands:
        if not answered(operations, number, command, folder):
            return


def answered(operations: Operations, number: int, command: Answer, folder: Path) -> bool:
    """Answer one request; whether another may follow."""
    name = command.pop("op")
    if name == STOP:
        return False
    try:
        found = operations[name](**command)
    except BaseException as error:  # noqa: BLE001 -- whatever the user's code raises is an answer
        write_failure(folder, failed(error))
        return False
    write_answer(folder, number, found)
    return True


def read_commands() -> Iterator[tuple[int, Answer]]:
    """Requests with their numbers, from what was stdin; the user's code reads nothing there."""
    own = os.fdopen(os.dup(0), encoding="utf-8")
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    return ((number, json.loads(line)) for number, line in enumerate(own))


def limit_memory(cap: int | None) -> None:
    """Hold the allocator of a CUDA device to a cap; of a CPU the parent watches the process."""
    if cap is None:
        return
    from boundby.bench.framework import has_cuda, torch  # noqa: PLC0415 -- loads torch

    if has_cuda():
        total = torch().cuda.get_device_properties(0).total_memory
        torch().cuda.set_per_process_memory_fraction(min(cap / total, 1.0))


def failed(error: BaseException) -> Answer:
    """An exception as an answer; its traceback goes to stderr."""
    traceback.print_exception(error)
    sys.stderr.flush()
    if isinstance(error, SystemExit):
        return {"failure": "ended", "message": f"the script exited with code {error.code}"}
    text = one_line(getattr(error, "message", None) or str(error))
    is_ours = isinstance(error, BoundbyError)
    return {
        "failure": kind_of(error),
        "message": text if is_ours else f"{type(error).__name__}: {text}".rstrip(": "),
        "hint": getattr(error, "hint", None),
        "exit_code": getattr(error, "exit_code", 125),
    }


def kind_of(error: BaseException) -> Failure:
    """How a trial failed."""
    if is_out_of_memory(error):
        return "oom"
    if any(type(each).__module__.startswith(COMPILERS) for each in chain_of(error)):
        return "compile"
    return "input" if isinstance(error, BoundbyError) else "crash"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
