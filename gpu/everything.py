"""All measurements of this folder that fit into some minutes, one after the other.

    python -m gpu.everything $OUT --minutes 9 --only run memory tune-fp32

Each job is a process with a limit; what it prints is OUT/NAME.txt, what it writes lies beside it.
``tune-*`` get what is left of the minutes, and take up the journal in OUT/tune. Prints the last
lines of each job as it ends, and one line a job last.
"""
# ruff: noqa: T201 (a script)

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LAST_LINES = 30
LEAST_S = 60.0
"""A job is not started with less time left."""


@dataclass(frozen=True)
class Job:
    """A command with its limit; ``{out}`` and ``{minutes}`` are filled in."""

    command: tuple[str, ...]
    limit_s: float


def _tune(case: str) -> Job:
    return Job(
        ("-m", "gpu.tune_case", "{out}/tune", "--case", case, "--minutes", "{minutes}"), 1200
    )


JOBS = {
    "device": Job(("-m", "boundby", "device"), 60),
    "memory": Job(("gpu/memory_verify.py", "{out}/memory"), 180),
    "overhead": Job(("gpu/verify_run.py", "--overhead", "{out}/overhead"), 90),
    "run": Job(("gpu/verify_run.py", "{out}/run", "--seconds", "8"), 420),
    "bench": Job(("-m", "gpu.verify_bench", "--out", "{out}/bench.json"), 180),
    "docs": Job(("-m", "gpu.docs_blocks"), 120),
    "tune-fp32": _tune("fp32"),
    "tune-bf16": _tune("bf16"),
    "tune-capped": _tune("capped"),
    "tune-inference": _tune("inference"),
    "tune-convnet": _tune("convnet"),
    "tune-host": _tune("host"),
    "tune-readbacks": _tune("readbacks"),
    "tune-no-grad": _tune("no-grad"),
    "tune-fp16": _tune("fp16"),
    "tune-script": _tune("script"),
}


def main() -> int:
    """Run what was asked for; 1 where a job failed or found no time."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("--minutes", type=float, default=9.0, help="for all of it")
    parser.add_argument("--only", nargs="*", choices=JOBS, default=list(JOBS), metavar="NAME")
    asked = parser.parse_args()
    asked.out.mkdir(parents=True, exist_ok=True)
    end = time.monotonic() + 60 * asked.minutes
    ended = [(name, run(name, asked.out, end - time.monotonic())) for name in asked.only]
    for name, code in ended:
        print(f"{name:<15} {'no time' if code is None else f'exit code {code}'}")
    return int(any(code != 0 for _, code in ended))


def run(name: str, out: Path, left_s: float) -> int | None:
    """Run one job within the time that is left; None where that is too little."""
    if left_s < LEAST_S:
        return None
    job, began = JOBS[name], time.monotonic()
    words = {"out": str(out), "minutes": f"{left_s / 60:.2f}"}
    command = [sys.executable, *(word.format(**words) for word in job.command)]
    path = f"{ROOT / 'src'}{os.pathsep}{ROOT}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"
    environment = {**os.environ, "PYTHONPATH": path.rstrip(os.pathsep), "PYTHONUNBUFFERED": "1"}
    said = out / f"{name}.txt"
    with said.open("wb") as file:
        process = subprocess.Popen(  # noqa: S603 -- the scripts of this folder
            command,
            cwd=ROOT,
            env=environment,
            stdout=file,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            code = process.wait(min(job.limit_s, left_s))
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            code = process.wait()
    lines = said.read_text("utf-8", "replace").splitlines()[-LAST_LINES:]
    print(f"== {name}: {time.monotonic() - began:.0f} s, exit code {code}", *lines, sep="\n")
    return code


if __name__ == "__main__":
    sys.exit(main())
