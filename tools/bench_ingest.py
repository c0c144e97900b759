"""Time and memory of ``boundby trace`` on a large trace: ``python -m tools.bench_ingest``.

The trace is synthetic. It has the text layout and the mix of events of a Kineto file recorded with
shapes: operators, launches, kernels and flow arrows. Its times are regular, so it says nothing
about verdicts.
"""

from __future__ import annotations

import argparse
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

BYTES_PER_MB = 1_000_000
OPS_PER_STEP = 400
OP_US = 10.0
STEP_US = OPS_PER_STEP * OP_US

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


def main() -> None:
    """Write the trace, read it, print what both took."""
    parser = argparse.ArgumentParser(prog="python -m tools.bench_ingest")
    parser.add_argument("--mb", type=float, default=100, help="size of the trace (default: 100)")
    arguments = parser.parse_args()
    imports = measure([sys.executable, "-c", "import numpy, click, rich"])
    with tempfile.TemporaryDirectory() as folder:
        trace = Path(folder) / "synthetic.json"
        with trace.open("w", encoding="utf-8") as out:
            out.writelines(synthetic_trace(int(arguments.mb * BYTES_PER_MB)))
        megabytes = trace.stat().st_size / BYTES_PER_MB
        read = measure([sys.executable, "-m", "boundby", "trace", str(trace), "--json"])
    print(f"{platform.machine()}, Python {platform.python_version()}, {os.cpu_count()} cores")
    print("| what | seconds | peak MB |")
    print("| --- | --- | --- |")
    for what, usage in (
        ("import numpy, click, rich", imports),
        (f"boundby trace, {megabytes:.0f} MB", read),
    ):
        print(f"| {what} | {usage.seconds:.2f} | {usage.peak_bytes / BYTES_PER_MB:.0f} |")


if __name__ == "__main__":
    main()
