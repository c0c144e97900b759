"""Record small programs, and measure them and their cured twins: ``python gpu/twins.py OUT``.

Every program runs in a process of its own, one after the other: warm-up, each twin interleaved with
the base, clean blocks, recordings, clean blocks again. A program that fails is reported, and a twin
that fails is left out. OUT gets

- ``twins.tar``: the recordings, ``DEVICE/NAME.json.gz`` and ``DEVICE/NAME.stack.json.gz``;
- ``truth.jsonl``: one line a recording, as ``python -m tools.accuracy`` reads it;
- ``measurements.jsonl``: one line a program, with every run of every block;
- ``host_costs.json``: what the host pays for an operator, a launch, a wait and the profiler.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import sys
import tarfile
import tempfile
import time
from collections.abc import Iterator
from multiprocessing.context import BaseContext
from pathlib import Path
from statistics import median
from typing import Any

HOST_COSTS = "host_costs"
AFTER = "after"  # blocks measured once the process has recorded
LARGEST_RECORDING = 1_200_000  # bytes; larger ones are measured, not kept
LARGEST_TAR = 15_500_000
SECONDS_OF_HOST_COSTS = 40.0
ENVIRONMENT = {
    "PYTORCH_NVML_BASED_CUDA_CHECK": "1",  # else asking for a device spoils CUDA for forks
    "TORCHINDUCTOR_COMPILE_THREADS": "1",  # no pool of workers beside the host line
    "PYTHONPATH": str(Path(__file__).resolve().parent),
}

Result = dict[str, Any]


def child(name: str, folder: Path, skipped: list[str]) -> None:
    """The process of one program."""
    from worker import work  # noqa: PLC0415 (torch stays out of the process that waits)

    work(name, folder, skipped)


def known() -> dict[str, float]:
    """The programs by name, and the seconds each may take."""
    from programs import TABLE  # noqa: PLC0415 (as above)

    return {HOST_COSTS: SECONDS_OF_HOST_COSTS, **{each.name: each.limit_s for each in TABLE}}


def write_names(file: Path) -> None:
    """Leave the table of programs in a file."""
    file.write_text(json.dumps(known()), "utf-8")


def preloaded() -> BaseContext:
    """Fresh processes, forked from one that has imported torch and has not touched the device."""
    os.environ.update(ENVIRONMENT)
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["worker"])
    return context


def names_of(context: BaseContext, folder: Path) -> dict[str, float]:
    """The programs, asked of a process, so that torch stays out of this one."""
    file = folder / "names.json"
    process = context.Process(target=write_names, args=(file,))  # type: ignore[attr-defined]
    process.start()
    process.join()
    names: dict[str, float] = json.loads(file.read_text("utf-8"))
    return names


def run(context: BaseContext, name: str, folder: Path, limit_s: float, *skipped: str) -> Result:
    """Measure one program in its process; once more without a twin that fails."""
    file = folder / f"{name}.result.json"
    process = context.Process(target=child, args=(name, folder, list(skipped)))  # type: ignore[attr-defined]
    process.start()
    process.join(limit_s)
    if process.is_alive():
        process.kill()
        process.join()
        return {"name": name, "error": f"given up after {limit_s:.0f} s"}
    if not file.exists():
        return {"name": name, "error": f"ended with code {process.exitcode}"}
    result: Result = json.loads(file.read_text("utf-8"))
    file.unlink()
    if twin := result.get("failed_twin"):
        log(f"  {name}: twin {twin} failed, again without it: {result['error'][:300]}")
        return run(context, name, folder, limit_s, *skipped, twin)
    return {**result, "failed_twins": list(skipped)}


def log(line: str) -> None:
    """Progress, beside the result."""
    print(line, file=sys.stderr, flush=True)  # noqa: T201


def of_variant(result: Result, variant: str) -> list[float]:
    """The medians of a variant's blocks, without those that a recording may have slowed."""
    return [
        median(block["runs_ms"])
        for block in result["blocks"]
        if block["variant"] == variant and block["when"] != AFTER
    ]


def cured_ms(result: Result) -> dict[str, float]:
    """The step of each twin."""
    variants = {block["variant"] for block in result["blocks"]} - {"base"}
    return {name: round(median(of_variant(result, name)), 4) for name in sorted(variants)}


def truths(result: Result, folder: str) -> Iterator[Result]:
    """One line for each recording of a program."""
    base = of_variant(result, "base")
    for recording in result.get("recordings", []):
        yield {
            "file": f"{folder}/{recording['file']}",
            "name": result["name"],
            "device": result["device"],
            "torch": result["torch"],
            "python_stacks": recording["python_stacks"],
            "step_ms": [round(min(base), 4), round(max(base), 4)],
            "submit_ms": round(result["submit_ms"], 4),
            "profiled_ms": round(recording["profiled_ms"], 4),
            "gpu_ms": None,
            "device_events_per_step": None,
            "cured_ms": cured_ms(result),
            "truth_class": None,
            "cause": result["cause"],
            "accept": [],
        }


def kept(lines: list[Result], recordings: Path) -> list[Result]:
    """The lines whose recordings are small enough, smallest first until the archive is full."""
    left = LARGEST_TAR
    chosen = []
    for line in sorted(
        lines, key=lambda line: (recordings / Path(line["file"]).name).stat().st_size
    ):
        size = (recordings / Path(line["file"]).name).stat().st_size + 2 * tarfile.BLOCKSIZE
        left -= size
        if size > LARGEST_RECORDING or left < 0:
            log(f"  {line['file']}: {size} bytes, not kept")
        else:
            chosen.append(line["file"])
    return [line for line in lines if line["file"] in chosen]


def pack(lines: list[Result], recordings: Path, out: Path) -> None:
    """Write the archive and the truth beside it."""
    with tarfile.open(out / "twins.tar", "w") as archive:
        for line in lines:
            archive.add(recordings / Path(line["file"]).name, line["file"])
    text = "".join(json.dumps(line) + "\n" for line in lines)
    (out / "truth.jsonl").write_text(text, "utf-8")


def row(result: Result) -> str:
    """One line of the table."""
    if "blocks" not in result:
        return f"{result['name']:<34} {result.get('error', 'measured')[:120]}"
    base = of_variant(result, "base")
    profiled = " / ".join(f"{each['profiled_ms']:.3f}" for each in result["recordings"])
    cures = " ".join(f"{name}={ms:.3f}" for name, ms in cured_ms(result).items())
    return (
        f"{result['name']:<34} {min(base):.3f}-{max(base):.3f} submit {result['submit_ms']:.3f} "
        f"profiled {profiled} {cures}"
    )


def measure_all(chosen: list[str], minutes: float, recordings: Path) -> list[Result]:
    """Every chosen program, as long as there is time to start it."""
    context = preloaded()
    begin = time.monotonic()
    results = []
    limits = names_of(context, recordings)
    for name in chosen or limits:
        if time.monotonic() - begin > minutes * 60:
            log(f"{name}: no time left")
            continue
        results.append(run(context, name, recordings, limits[name]))
        log(f"{time.monotonic() - begin:6.1f} s  {row(results[-1])}")
    return results


def write(results: list[Result], recordings: Path, out: Path) -> None:
    """All outputs but the table."""
    done = [result for result in results if "blocks" in result]
    folder = done[0]["device"].split()[-1].lower() if done else "none"
    lines = [line for result in done for line in truths(result, folder)]
    pack(kept(lines, recordings), recordings, out)
    raw = "".join(json.dumps(result) + "\n" for result in results if result["name"] != HOST_COSTS)
    (out / "measurements.jsonl").write_text(raw, "utf-8")
    for result in results:
        if result["name"] == HOST_COSTS:
            (out / "host_costs.json").write_text(json.dumps(result, indent=1) + "\n", "utf-8")


def main() -> None:
    """Measure, write, print the table."""
    parser = argparse.ArgumentParser(description="Record small programs and measure their twins.")
    parser.add_argument("out", type=Path, metavar="OUT", help="folder for the results")
    parser.add_argument("--only", nargs="*", default=[], metavar="NAME", help="these programs")
    parser.add_argument("--minutes", type=float, default=60.0, help="start none later than this")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as recordings:
        results = measure_all(options.only, options.minutes, Path(recordings))
        write(results, Path(recordings), options.out)
    for result in results:
        print(row(result))  # noqa: T201 (the result)


if __name__ == "__main__":
    main()
