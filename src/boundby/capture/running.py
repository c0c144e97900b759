"""The observation of this process, from its start to the end of the program."""

from __future__ import annotations

import atexit
import os
import subprocess
import sys
import sysconfig
from pathlib import Path
from time import monotonic, perf_counter_ns
from typing import Any

from boundby.capture.launch import DEFAULT_PARENT
from boundby.capture.observer import Observer
from boundby.capture.plan import FOLDER, PARENT, SWITCH, Plan
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
    place = folder or folder_of_process()
    observer = Observer(plan, lambda: open_folder(place))
    observer.install()
    watch_ending(lambda error: note_error(observer, error))
    atexit.register(at_exit, observer, os.getpid(), reports=reports)
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=observer.abandon)
    current[:] = [observer]
    return observer


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
        "directory": str(Path.cwd()),
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
    name, text = type(error).__name__, str(error)
    told = "OutOfMemory" in name or any(words in text for words in OUT_OF_MEMORY)
    observer.folder.note("end", exception=name, message=text if told else "")


def at_exit(observer: Observer, process: int, *, reports: bool) -> None:
    """End what runs; where nobody else reports, rank 0 does."""
    if os.getpid() != process:
        return
    observer.close()
    folder = observer.folder
    if not reports or folder is None or os.environ.get(PARENT) or number("RANK"):
        return
    report(folder.path)


def report(folder: Path) -> None:
    """Read the folder in a fresh process and write the report to stderr."""
    environment = {name: text for name, text in os.environ.items() if name != SWITCH}
    command = [sys.executable, "-m", "boundby", "run", "--read", str(folder)]
    subprocess.run(command, env=environment, stdout=sys.stderr.fileno(), check=False)
