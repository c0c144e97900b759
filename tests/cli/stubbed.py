"""The command line over diagnoses written by hand; a file is named after the one it stands for.

Run as a process by the tests, so that exit codes and streams are the real ones.
"""

import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

sys.path.insert(0, str(Path(__file__).parent.parent))

import boundby.diagnose
import boundby.read
from boundby.cli import main
from boundby.errors import UnreadableError
from boundby.verdict.next import next_commands
from diagnoses import device_bound, launch_bound, sync_bound, undecided

MAKERS = {
    "launch": launch_bound,
    "sync": sync_bound,
    "device": device_bound,
    "nothing": undecided,
    "tables": launch_bound,
}


def read_recording(path):
    """Anything that says who it is; files named ``missing`` and ``bug`` are neither."""
    stem = Path(path).name.split(".")[0]
    if stem == "missing":
        raise UnreadableError(f"{path}: no such file\x1b[1m", "boundby demo")
    if stem == "interrupt":
        raise KeyboardInterrupt
    if stem == "bug":
        raise ZeroDivisionError("by design")
    return SimpleNamespace(source=SimpleNamespace(path=str(path), stem=stem))


def diagnose(recording, options):
    made = MAKERS[recording.source.stem]()
    source = replace(made.source, path=recording.source.path)
    steps = made.steps
    if options.step_ms is not None:
        steps = replace(steps, unprofiled_ms=replace(steps.unprofiled_ms, estimate=options.step_ms))
    following = made.next
    if recording.source.stem == "tables":
        following = next_commands(made.verdict, recording.source.path)
    return replace(made, source=source, steps=steps, next=following)


boundby.read.read_recording = read_recording
boundby.diagnose.diagnose = diagnose

if __name__ == "__main__":
    sys.exit(main())
