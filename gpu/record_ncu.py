"""Measures a small program with ncu by ``boundby record``, and checks what is said of its kernels.

Needs ncu, the right to read the counters, and torch. Prints a table; exits with 1 where a kernel is
told to be bound by something else than expected, or where pages and report of one run disagree::

    PYTHONPATH=src python gpu/record_ncu.py
"""
# ruff: noqa: S603, T201 (it starts ncu and boundby, and prints what it found)

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

PROGRAM = """
import sys
import torch
from torch.nn import functional as F
x = torch.zeros(64, 1024, 1024, device="cuda")
w = torch.zeros(1024, device="cuda")
a = torch.zeros(4096, 4096, device="cuda", dtype=torch.bfloat16)
b = torch.zeros(8192, 8192, device="cuda")
s = torch.zeros(128, 64, device="cuda")
for _ in range(2):
    x + 1
    F.gelu(x)
    F.layer_norm(x, (1024,), w, w)
    F.softmax(x, -1)
    a @ a
    s + 1
    b.t() + b
b @ b
torch.cuda.synchronize()
sys.exit(int(sys.argv[1]))
"""
KERNELS = "elementwise_kernel|layer_norm|softmax|nvjet|gemm"
SKIPPED = "5"  # the fills of zeros
COUNT = "15"
EXPECTED = {
    ("OnSelf_add", 65536): ("at-limit", "memory", "DRAM"),
    ("Gelu", 65536): ("at-limit", "memory", "DRAM"),
    ("layer_norm", 65536): ("compute-bound", "compute", "issue"),
    ("softmax", 16384): ("at-limit", "memory", "DRAM"),
    ("nvjet", 132): ("at-limit", "compute", "Tensor"),
    ("OnSelf_add", 8): ("latency-bound", "memory", None),
    ("CUDAFunctor_add<float>", 262144): ("at-limit", "memory", "L2"),
    ("f32f32", 2048): ("at-limit", "compute", "FMA"),
}
"""Class, side and unit by a part of the name and the number of blocks; None is not checked."""
EXIT_CODE = 3

Document = dict[str, Any]


def boundby(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run the command line as a process."""
    return subprocess.run(
        [sys.executable, "-m", "boundby", *arguments],
        stdout=subprocess.PIPE,
        text=True,
        check=False,
        env={**os.environ, **environment},
    )


def recorded(program: Path, table: Path) -> Document:
    """What ``record --ncu`` says; the script's exit code must come through."""
    options = ["--count", COUNT, "--skip", SKIPPED, "--save", str(table), "--json"]
    command = [sys.executable, str(program), str(EXIT_CODE)]
    done = boundby("record", "--ncu", KERNELS, *options, "--", *command)
    if done.returncode != EXIT_CODE:
        sys.exit(f"the exit code is {done.returncode}, not that of the script ({EXIT_CODE})")
    document: Document = json.loads(done.stdout)
    return document


def pages(program: Path, folder: Path) -> dict[str, Document]:
    """What ``kernel`` says of one report: by both pages, and by the report itself."""
    report = folder / "run.ncu-rep"
    choose = ["--kernel-name", f"regex:{KERNELS}", "-c", COUNT, "--launch-skip", SKIPPED]
    profile = ["ncu", "--set", "full", "--clock-control", "none", "-o", str(report), *choose]
    subprocess.run([*profile, sys.executable, str(program), "0"], stdout=2, check=True)
    found = {}
    for page in ("raw", "details"):
        table = folder / f"{page}.csv"
        with table.open("w") as target:
            convert = ["ncu", "--import", str(report), "--csv", "--page", page]
            subprocess.run(convert, stdout=target, check=True)
        found[page] = json.loads(boundby("kernel", str(table), "--json").stdout)
    module = next(Path("/opt/nvidia").glob("nsight-compute/*/extras/python"), None)
    if module is None:
        print("no module ncu_report here: the report itself is not read")
    else:
        path = os.pathsep.join(filter(None, (os.environ.get("PYTHONPATH"), str(module))))
        done = boundby("kernel", str(report), "--json", PYTHONPATH=path)
        if done.returncode == 0:
            found["report"] = json.loads(done.stdout)
    return found


def verdicts(document: Document) -> dict[tuple[str, str], tuple[str, str]]:
    """Class and unit of each kernel by name and grid."""
    return {
        (one["name"][-60:], str(one["grid"])): (one["verdict"]["class"], one["verdict"]["unit"])
        for one in document["kernels"]
    }


def check(document: Document) -> list[str]:
    """A line a kernel on stdout; what is not as expected."""
    wrong = []
    for (part, blocks), expected in EXPECTED.items():
        rows = [
            one
            for one in document["kernels"]
            if part in one["name"] and one["grid"][0] * one["grid"][1] == blocks
        ]
        if not rows:
            wrong.append(f"no kernel {part} with {blocks} blocks")
            continue
        verdict = rows[0]["verdict"]
        told = (verdict["class"], verdict["side"], verdict["unit"] if expected[2] else None)
        if told != expected:
            wrong.append(f"{part}: {told}, expected {expected}")
        print_row(part, rows[0])
    return wrong


def print_row(name: str, one: Document) -> None:
    """The figures of a kernel on one line."""
    busy, held = one["throughput"], one["occupancy"]
    sectors = one["access"]["load_sectors"]
    figures = [busy["compute"], busy["memory"], busy["dram"], busy["tensor"], held["achieved"]]
    shares = " ".join("   -" if figure is None else f"{figure:4.0%}" for figure in figures)
    first = one["findings"][0]["id"] if one["findings"] else "-"
    stall = one["stalls"][0]["reason"] if one["stalls"] else "-"
    loads = "-" if sectors is None else f"{sectors:.1f}"
    time = one["total_ms"] / one["launches"] * 1000
    row = f"{name[:22]:22} {time:9.1f} us {shares} {loads:>5} {one['verdict']['class']:14}"
    print(f"{row} {one['verdict']['unit']!s:7} {first:18} {stall}")
    for finding in one["findings"]:
        print(f"    {finding['id']}: {finding['text']}")


def main() -> int:
    """Record, check, compare; 0 where all is as expected."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        program = folder / "program.py"
        program.write_text(PROGRAM, "utf-8")
        wrong = check(recorded(program, folder / "recorded.csv"))
        found = pages(program, folder)
    for name, document in found.items():
        if verdicts(document) != verdicts(found["raw"]):
            wrong.append(f"{name}: {verdicts(document)} are not those of the raw page")
    print(f"compared: {', '.join(found)}; wrong: {wrong or 'nothing'}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
