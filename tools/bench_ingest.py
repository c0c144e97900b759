"""Time and memory of ``boundby trace`` beside other readers, and of ``boundby memory``.

    python -m tools.bench_ingest

The traces are synthetic. Without a generator of more kinds the text of this file is written. It
has the text layout and the mix of events of a Kineto file recorded with shapes: operators,
launches, kernels and flow arrows. The times are regular, so they say nothing about verdicts.
"""

from __future__ import annotations

import argparse
import compileall
import gzip
import os
import pickle
import platform
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import median

BYTES_PER_MB = 1_000_000
OPS_PER_STEP = 400
OP_US = 10.0
STEP_US = OPS_PER_STEP * OP_US

PAIRS = 9
EVENTS = 300_000
BASE, SHARE_FREED = 1 << 40, 0.5
STACKS, DEEP, FILES = 4000, 30, 4000
"""Of a snapshot: distinct stacks, frames of each, distinct frames."""
HTA = (
    "import sys; from hta.trace_analysis import TraceAnalysis; "
    "TraceAnalysis(trace_files={0: sys.argv[2]}, trace_dir=sys.argv[1])"
    ".get_temporal_breakdown(visualize=False)"
)

# ru_maxrss counts KiB on Linux and bytes on macOS.
MAXRSS_BYTES = 1 if sys.platform == "darwin" else 1024

HEAD = """{
  "schemaVersion": 1,
  "deviceProperties": [{"id": 0, "name": "NVIDIA H200", "numSms": 132}],
  "record_shapes": 1,
  "displayTimeUnit": "ms",
  "baseTimeNanoseconds": 1767189312000000000,
  "traceEvents": ["""

STEP = """
  {
    "ph": "X", "cat": "user_annotation", "name": "ProfilerStep#%(step)d", "pid": 42, "tid": 42,
    "ts": %(ts).3f, "dur": %(dur).3f,
    "args": {"External id": %(id)d, "Ev Idx": %(id)d}
  },"""

OP = """
  {
    "ph": "X", "cat": "cpu_op", "name": "aten::addmm", "pid": 42, "tid": 42,
    "ts": %(ts).3f, "dur": 8.000,
    "args": {
      "External id": %(id)d, "Record function id": 0, "Concrete Inputs": ["", "", "", "1", "1"],
      "Input type": ["float", "float", "float", "Scalar", "Scalar"],
      "Input Strides": [[1], [4096, 1], [1, 4096], [], []],
      "Input Dims": [[4096], [%(rows)d, 4096], [4096, 4096], [], []], "Ev Idx": %(id)d
    }
  },
  {
    "ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 42, "tid": 42,
    "ts": %(launch).3f, "dur": 4.000,
    "args": {"External id": %(id)d, "cbid": 211, "correlation": %(id)d}
  },
  {
    "ph": "s", "id": %(id)d, "pid": 42, "tid": 42, "ts": %(launch).3f,
    "cat": "ac2g", "name": "ac2g"
  },
  {
    "ph": "X", "cat": "kernel", "name": "sm90_xmma_gemm_f32f32_f32_tn_n", "pid": 0, "tid": 7,
    "ts": %(kernel).3f, "dur": 5.000,
    "args": {
      "External id": %(id)d, "queued": 0, "device": 0, "context": 1, "stream": 7,
      "correlation": %(id)d,
      "registers per thread": 168, "shared memory": 49152, "blocks per SM": 1.939394,
      "warps per SM": 7.757576, "grid": [256, 1, 1], "block": [128, 1, 1],
      "est. achieved occupancy %%": 12
    }
  },
  {
    "ph": "f", "id": %(id)d, "pid": 0, "tid": 7, "ts": %(kernel).3f,
    "cat": "ac2g", "name": "ac2g", "bp": "e"
  },"""

TAIL = """
  {
    "name": "process_name", "ph": "M", "ts": 0.000, "pid": 42, "tid": 0, "args": {"name": "python"}
  }
  ],
  "traceName": "synthetic.json"
}
"""


@dataclass(frozen=True)
class Usage:
    """What one command took."""

    seconds: float
    peak_bytes: int


def step_text(step: int) -> str:
    """One step: its range, then OPS_PER_STEP operators, each with one launch and one kernel."""
    start = step * STEP_US
    first = step * (OPS_PER_STEP + 1) + 1
    rows = [STEP % {"step": step, "ts": start, "dur": STEP_US - 1, "id": first}]
    for index in range(OPS_PER_STEP):
        ts = start + index * OP_US
        rows.append(
            OP
            % {
                "id": first + 1 + index,
                "ts": ts + 1,
                "launch": ts + 3,
                "kernel": ts + 8.5,
                "rows": 8 * (1 + index % 64),
            }
        )
    return "".join(rows)


def synthetic_trace(size: int) -> Iterator[str]:
    """The text of a trace of at least ``size`` bytes, in pieces that end at step boundaries."""
    yield HEAD
    written, step = len(HEAD), 0
    while written < size:
        text = step_text(step)
        yield text
        written, step = written + len(text), step + 1
    yield TAIL


def measure(command: list[str]) -> Usage:
    """Run a command to its end; its result is thrown away, its failure is ours."""
    start = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - start
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{' '.join(command)} ended with {process.returncode}")
    return Usage(seconds, usage.ru_maxrss * MAXRSS_BYTES)


def write_traces(folder: Path, megabytes: float) -> tuple[Path, Path]:
    """A trace of that size, plain and compressed.

    By the generator of BOUNDBY_SHARED where there is one, else the regular one of this file.
    """
    plain = folder / f"{megabytes:g}mb.json"
    generator = Path(os.environ.get("BOUNDBY_SHARED", "../shared")) / "tracegen.py"
    if generator.exists():
        command = [sys.executable, str(generator), str(plain), "--mb", f"{megabytes:g}"]
        subprocess.run(command, check=True, capture_output=True)
    else:
        with plain.open("w", encoding="utf-8") as out:
            out.writelines(synthetic_trace(int(megabytes * BYTES_PER_MB)))
    packed = plain.with_name(plain.name + ".gz")
    with plain.open("rb") as read, gzip.open(packed, "wb", compresslevel=6) as written:
        shutil.copyfileobj(read, written, 1 << 20)
    return plain, packed


def write_snapshot(path: Path, count: int) -> None:
    """A memory snapshot of so many events of one device, each with a stack, from a fixed seed."""
    draw = random.Random(0)  # noqa: S311 -- a sample
    frames = [{"filename": f"/u/m{n}.py", "line": n, "name": f"f{n}"} for n in range(FILES)]
    stacks = [draw.sample(frames, DEEP) for _ in range(STACKS)]
    events: list[dict[str, object]] = []
    live: list[dict[str, object]] = []
    while len(events) < count:
        if live and draw.random() < SHARE_FREED:
            gone = live.pop(draw.randrange(len(live)))
            actions, entry = ("free_requested", "free_completed"), gone
        else:
            entry = {
                "addr": BASE + 512 * len(events),
                "size": 512,
                "stream": 0,
                "frames": draw.choice(stacks),
            }
            actions = ("alloc",)
            live.append(entry)
        events += [{**entry, "action": each, "time_us": len(events)} for each in actions]
    path.write_bytes(pickle.dumps({"segments": [], "device_traces": [events[:count]]}, protocol=4))


def compare(trace: Path, hta: str | None) -> dict[str, Usage]:
    """What boundby, json.load and, where given, HolisticTraceAnalysis take for one trace."""
    opener = "gzip.open" if trace.suffix == ".gz" else "open"
    load = f"import gzip, json, sys; json.load({opener}(sys.argv[1], 'rb'))"
    commands = {
        "boundby": [sys.executable, "-m", "boundby", "trace", str(trace), "--json"],
        "json.load": [sys.executable, "-c", load, str(trace)],
    }
    if hta:
        commands["HTA"] = [hta, "-c", HTA, str(trace.parent), str(trace)]
    return {name: measure(command) for name, command in commands.items()}


def small_ratio() -> float:
    """Time of a trace under 1 MB over that of the imports alone: the slowest sample recording.

    Of each the middle of interleaved pairs. The package is compiled first, as pip leaves it.
    """
    package = Path(__file__).parent.parent / "src/boundby"
    compileall.compile_dir(package, quiet=1)
    return max(_times_imports(sample) for sample in sorted(package.glob("data/*.json.gz")))


def _times_imports(sample: Path) -> float:
    imports = [sys.executable, "-c", "import numpy, click, rich"]
    trace = [sys.executable, "-m", "boundby", "trace", str(sample)]
    measure(imports), measure(trace)
    return median(measure(trace).seconds / measure(imports).seconds for _ in range(PAIRS))


def main() -> None:
    """Write traces, read them, print what each took and the ratios."""
    parser = argparse.ArgumentParser(prog="python -m tools.bench_ingest")
    parser.add_argument("--mb", type=float, nargs="+", default=[10, 100, 500], help="sizes")
    parser.add_argument("--hta", metavar="PYTHON", help="a Python that has HolisticTraceAnalysis")
    arguments = parser.parse_args()
    print(f"{platform.machine()}, Python {platform.python_version()}, {os.cpu_count()} cores")
    print(f"trace under 1 MB: {small_ratio():.2f} times `import numpy, click, rich`")
    with tempfile.TemporaryDirectory() as folder:
        snapshot = Path(folder) / "snapshot.pickle"
        write_snapshot(snapshot, EVENTS)
        took = measure([sys.executable, "-m", "boundby", "memory", str(snapshot)])
        peak = took.peak_bytes / BYTES_PER_MB
        print(f"snapshot of {EVENTS:,} events: {took.seconds:.2f} s, {peak:.0f} MB")
    print("| trace | reader | seconds | peak MB | times boundby's seconds | times its peak |")
    print("| --- | --- | --- | --- | --- | --- |")
    for megabytes in arguments.mb:
        with tempfile.TemporaryDirectory() as folder:
            for trace in write_traces(Path(folder), megabytes):
                found = compare(trace, arguments.hta)
                own = found["boundby"]
                for name, usage in found.items():
                    seconds = f"{usage.seconds:.2f} | {usage.peak_bytes / BYTES_PER_MB:.0f}"
                    times = f"{usage.seconds / own.seconds:.1f}"
                    peak = f"{usage.peak_bytes / own.peak_bytes:.1f}"
                    print(f"| {trace.name} | {name} | {seconds} | {times} | {peak} |", flush=True)


if __name__ == "__main__":
    main()
