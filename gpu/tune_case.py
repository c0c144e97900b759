"""``boundby tune`` on the transformer block of the examples, on a CUDA device.

    python -m gpu.tune_case $OUT --minutes 8            # again and again until it has ended
    python -m gpu.tune_case $OUT --case bf16 --minutes 8
    python -m gpu.tune_case $OUT --case capped --minutes 8

Each call goes on where the last one stopped: OUT/CASE.jsonl is the journal, OUT/CASE.json the
report, OUT/recordings what was diagnosed. To go on with a fresh OUT, give the folder of the earlier
one: ``--from FOLDER``. Prints a short table last.
"""
# ruff: noqa: T201 (a script)

from __future__ import annotations

import argparse
import gzip
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
FILE = "examples/transformer_block/workload.py"
ALLOW = ("--allow", "batch,numerics")
NUMERICS = ("--allow", "numerics")
CAPPED = ("--memory-cap", "4", "--skip", "compile-model,cuda-graph")
"""GiB, and a program that must stay eager: compiled, small batches lose so little that room for
larger ones is worth less than computing activations twice."""


@dataclass(frozen=True)
class Case:
    """What is tuned, with its arguments and environment, and the options of ``boundby tune``."""

    target: tuple[str, ...]
    options: tuple[str, ...] = ALLOW
    environment: dict[str, str] = field(default_factory=dict)


HOST_CHANGES = (
    "fused-norm,pinned-copies,loader-workers,fewer-readbacks,allocator-settings,gc-schedule"
)
CASES = {
    "fp32": Case((f"{FILE}:Workload",)),
    "bf16": Case((f"{FILE}:InBf16",)),
    "capped": Case((f"{FILE}:Workload",), (*ALLOW, *CAPPED)),
    "inference": Case(("examples/small_inference/workload.py:Workload",), NUMERICS),
    "convnet": Case(("examples/convnet/workload.py:Workload",)),
    "host": Case(("examples/slow_host/workload.py:Workload",), ("--only", HOST_CHANGES)),
    "readbacks": Case(
        ("examples/slow_host/workload.py:Workload",),
        ("--only", "loader-workers,fewer-readbacks"),
        {"WIDTH": "4096", "SIDE": "16"},
    ),
    "no-grad": Case(
        ("examples/small_inference/workload.py:Workload",), ("--only", "inference-mode")
    ),
    "fp16": Case((f"{FILE}:Workload",), (*NUMERICS, "--only", "fp16")),
    "script": Case(("tests/programs/transformer.py", "--seconds", "600"), NUMERICS),
}
"""The start at batch 8 in float32, the launch-bound one in bf16, one with little memory; a small
request at a time, and convolutions; changes that those do not ask for, once with layers so wide
that a loss read in every step costs; and an unchanged script."""
GOALS = {"fp32": 2600.0}
"""Samples a second on an H200, with float32 weights or masters."""
JOURNAL = "journal.jsonl"
SPARE_S = 20.0
"""Between the end of the budget and the end of the process: the trial that runs then."""


def main() -> int:
    """Run one case for some minutes; the exit code of ``boundby tune``."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("--case", choices=CASES, default="fp32")
    parser.add_argument("--minutes", type=float, default=8.0)
    parser.add_argument("--from", dest="earlier", type=Path)
    parser.add_argument("--steps", default="12")
    parser.add_argument("--skip", default="", help="changes that are left for another call")
    asked = parser.parse_args()
    asked.out.mkdir(parents=True, exist_ok=True)
    kept = asked.out / f"{asked.case}.jsonl"
    if asked.earlier is not None and not kept.exists():
        shutil.copyfile(asked.earlier / kept.name, kept)
    with tempfile.TemporaryDirectory() as folder:
        code = tune(asked, kept, Path(folder))
    print(table(kept, GOALS.get(asked.case)))
    return code


def tune(asked: argparse.Namespace, kept: Path, folder: Path) -> int:
    """Take the journal up in a folder of this machine, and bring it back whatever happens."""
    journal = folder / JOURNAL
    if kept.exists():
        shutil.copyfile(kept, journal)
    report = asked.out / f"{asked.case}.json"
    case = CASES[asked.case]
    command = [sys.executable, "-m", "boundby", "tune", *case.options, "--json", "-v"]
    command += ["--journal", str(folder), "--steps", asked.steps]
    command += ["--skip", asked.skip] if asked.skip else []
    command += ["--minutes", str(max(asked.minutes - SPARE_S / 60, 0.5)), *case.target]
    path = f"{ROOT / 'src'}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"
    environment = {**os.environ, **case.environment, "PYTHONPATH": path.rstrip(os.pathsep)}
    began = time.monotonic()
    with report.open("w", encoding="utf-8") as file:
        done = subprocess.run(command, cwd=ROOT, env=environment, stdout=file, check=False)  # noqa: S603 -- ours
    print(f"{time.monotonic() - began:.0f} s, exit code {done.returncode}", file=sys.stderr)
    if journal.exists():
        shutil.copyfile(journal, kept)
    bring_back(folder / "processes", asked.out, asked.case)
    return done.returncode


def bring_back(processes: Path, out: Path, case: str) -> None:
    """What each process printed, and the recordings that were diagnosed, packed."""
    for said in sorted(processes.glob("*/stderr.txt")):
        if said.stat().st_size:
            target = out / "stderr" / f"{case}-{said.parent.name}.txt"
            target.parent.mkdir(exist_ok=True)
            shutil.copyfile(said, target)
    for recording in sorted(processes.glob("*/**/trace*.json*")):
        name = recording.relative_to(processes).parts[0]
        target = out / "recordings" / f"{case}-{name}.json.gz"
        target.parent.mkdir(exist_ok=True)
        plain = gzip.open if recording.suffix == ".gz" else open
        with plain(recording, "rb") as source, gzip.open(target, "wb", 6) as packed:
            shutil.copyfileobj(source, packed)


def table(journal: Path, goal: float | None) -> str:
    """One line a trial, and whether the goal is met where there is one."""
    if not journal.exists():
        return "no journal"
    records = [json.loads(line) for line in journal.read_text("utf-8").splitlines()[1:]]
    records = [each for each in records if each["kind"] in ("baseline", "again", "trial", "probe")]
    rows = [_row(each) for each in records if each["kind"] != "probe"]
    kept = [each for each in records if each["decision"] in ("baseline", "kept")]
    best = max((each["samples_per_s"] or 0.0 for each in kept), default=0.0)
    step = min((each["step_ms"] for each in kept), default=0.0)
    seconds = sum(each["seconds"] for each in records)
    end = f"best {best:.0f} samples/s" if best else f"best step {step:.3g} ms"
    end += f" in {seconds:.0f} s of trials"
    if goal is not None:
        end += f"; goal of {goal:.0f} {'met' if best >= goal else 'not met'}"
    return "\n".join([*rows, end])


def _row(record: dict[str, Any]) -> str:
    step, rate, peak = (record[key] for key in ("step_ms", "samples_per_s", "peak_bytes"))
    figures = f"{step or 0:8.2f} ms {rate or 0:8.1f}/s {(peak or 0) / 2**20:7.0f} MiB"
    name = f"{record['change']} {record['value'] or ''}"[:34]
    return f"{name:<35}{record['decision']:<9}{figures}  {record['why'][:70]}"


if __name__ == "__main__":
    sys.exit(main())
