"""The observation of this process, from its start to the end of the program."""

from __future__ import annotations

import atexit
import os
import subprocess
import sys
import sysconfig
from contextlib import suppress
from pathlib import Path
from time import monotonic, perf_counter_ns
from typing import Any, TextIO

from boundby.capture.launch import DEFAULT_PARENT
from boundby.capture.observer import Observer
from boundby.capture.plan import FOLDER, PARENT, SWITCH, Plan, plan_of
from boundby.capture.tape import RunFolder
from boundby.capture.tracebacks import watch_ending

OUT_OF_MEMORY = ("out of memory", "allocate memory", "ALLOC_FAILED", "killed by signal")
"""Words of errors of other classes that a want of memory may be behind."""

current: list[Observer] = []
"""The observation of this process, if there is one: at most one."""


def start(plan: Plan, folder: Path | None = None, *, reports: bool = True) -> Observer:
    """Begin to listen for steps in this process; the folder is made at the first one.

    Args:
        plan: What to observe.
        folder: Where; None for a folder of this process.
        reports: Whether to report when the program ends, where nobody else does.
    """
    place = absolute(folder or folder_of_process())
    observer = Observer(plan, lambda: open_folder(place))
    observer.install()
    watch_ending(lambda error: note_error(observer, error))
    atexit.register(at_exit, observer, os.getpid(), reports=reports)
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=observer.abandon)
    current[:] = [observer]
    return observer


def is_observed_from_outside() -> bool:
    """Whether the environment asked for the observation of this process."""
    return bool(current) and plan_of(os.environ) is not None


def absolute(path: Path) -> Path:
    """The same place whatever folder the program changes to; as it is where none is left."""
    try:
        return path.absolute()
    except OSError:
        return path


def working_folder() -> str:
    """The folder the program works in; empty where it was deleted."""
    try:
        return str(Path.cwd())
    except OSError:
        return ""


def folder_of_process() -> Path:
    """The folder for this process: by rank where it has one, else by process id."""
    parent = Path(os.environ.get(FOLDER) or DEFAULT_PARENT)
    rank = os.environ.get("RANK", "")
    return parent / (f"rank-{int(rank)}" if rank.isdigit() else f"process-{os.getpid()}")


def open_folder(place: Path) -> RunFolder:
    """The folder with its header: what runs, on what."""
    import torch

    folder = RunFolder(place)
    header: dict[str, Any] = {
        "version": 1,
        "pid": os.getpid(),
        "script": Path(sys.argv[0]).name if sys.argv else "",
        "directory": working_folder(),
        "began": perf_counter_ns(),
        "began_s": monotonic(),
        "libraries": libraries(),
        "torch": torch.__version__,
        "cuda": torch.version.cuda,
        "rank": number("RANK"),
        "world_size": number("WORLD_SIZE"),
        "device": None,
    }
    if torch.cuda.is_available() and torch.cuda.is_initialized():
        header["device"] = torch.cuda.get_device_name()
    folder.describe(header)
    return folder


def libraries() -> list[str]:
    """Folders whose code is not the user's: the standard library, installed packages, torch."""
    import torch

    paths = sysconfig.get_paths()
    found = {paths[name] for name in ("stdlib", "platstdlib", "purelib", "platlib")}
    found.add(str(Path(torch.__file__).resolve().parent.parent))
    return sorted(found | {str(Path(each).resolve()) for each in found})


def number(variable: str) -> int | None:
    """A number from the environment; None where there is none."""
    text = os.environ.get(variable, "")
    return int(text) if text.isdigit() else None


def note_error(observer: Observer, error: BaseException) -> None:
    """Write what ended the program, and for want of memory also torch's own account."""
    if observer.folder is None:
        return
    name, text = type(error).__name__, ""
    with suppress(Exception):  # the text of an error is the user's code
        text = str(error)
    told = "OutOfMemory" in name or any(words in text for words in OUT_OF_MEMORY)
    observer.folder.note("end", exception=name, message=text if told else "")


def at_exit(observer: Observer, process: int, *, reports: bool) -> None:
    """End what runs; where nobody else reports, rank 0 does."""
    if os.getpid() != process:
        return
    observer.close()
    folder, stream = observer.folder, sys.__stderr__ or sys.stderr
    if folder is None and observer.failure is not None:
        say(f"boundby: nothing was recorded: {observer.failure}\n", stream)
    if not reports or folder is None or os.environ.get(PARENT) or number("RANK"):
        return
    report(folder.path, stream)


def report(folder: Path, stream: TextIO | None) -> None:
    """Read the folder in a fresh process and write the report to a stream, if there is one."""
    environment = {name: text for name, text in os.environ.items() if name != SWITCH}
    command = [sys.executable, "-m", "boundby", "run", "--read", shown(folder)]
    into = file_of(stream)
    with suppress(OSError):  # no process can be started: the recording is there
        if into is not None:
            subprocess.run(command, env=environment, stdout=into, check=False)
        elif stream is not None:
            done = subprocess.run(command, env=environment, capture_output=True, check=False)
            say((done.stderr + done.stdout).decode("utf-8", "replace"), stream)


def shown(folder: Path) -> str:
    """A folder as a user would name it: from where the program is, if it lies below."""
    here = working_folder()
    return str(folder.relative_to(here) if here and folder.is_relative_to(here) else folder)


def file_of(stream: TextIO | None) -> int | None:
    """The file behind a stream; None where text is all it takes, as in a notebook."""
    try:
        return None if stream is None else stream.fileno()
    except (OSError, ValueError, AttributeError):
        return None


def say(text: str, stream: TextIO | None) -> None:
    """Write to a stream of the program; nothing where it is gone or closed."""
    with suppress(OSError, ValueError):
        if stream is not None:
            stream.write(text)
