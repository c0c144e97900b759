"""Check ``boundby run`` on a device: ``python gpu/verify_run.py OUT``.

Every program of ``tests/programs`` runs under ``boundby run`` as a user would start it. Checked are
the class and strength of its verdict, the exact line of a planted cause, and, for programs with a
cured twin, the predicted step against base and twin measured in turn by the same process. The
overhead of the clean pass is measured in pairs, with and without it, in one process.

OUT gets ``run.json`` with all numbers, and the recordings. ``--again`` judges those of an earlier
run as boundby is now, without a device.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import shutil
import subprocess
import sys
import tarfile
import time
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, median
from typing import Any

HERE = Path(__file__).resolve().parent.parent
PROGRAMS = HERE / "tests" / "programs"
LIMIT_S = 100.0
NEAR = 0.15
"""A prediction this close to the measured interval is met."""
PAIRS = 300
PAIR_STEPS = 5
"""Short and many: host times drift within seconds."""
CLEAN_STEPS = 30
"""Of the clean pass of a program that asks for nothing else."""


@dataclass(frozen=True)
class Expected:
    """What a program was built to be.

    Attributes:
        classes: Classes that count as right.
        never: A verdict (class, strength) that must not be given.
        twin: The cure it measures itself against, and the what-if that predicts it.
        lines: The fact that must name its planted line.
        options: Further options of the program.
    """

    classes: tuple[str, ...]
    never: tuple[str, str] | None = None
    twin: tuple[str, str] | None = None
    lines: str | None = None
    options: tuple[str, ...] = ()
    program: str | None = None


EXPECTED = {
    "launch_bound": Expected(("launch-bound",), twin=("graph", "no_submit_cost")),
    "python_bound": Expected(("python-bound",), lines="python-line"),
    "sync_bound": Expected(("sync-bound",), twin=("sync", "no_sync"), lines="wait-item"),
    "data_bound": Expected(("sync-bound",), twin=("data", "no_data_wait"), lines="batch-line"),
    "compiled": Expected(("compute-bound",)),
    "gan": Expected(("launch-bound",)),
    "accumulation": Expected(("memory-bound",)),
    "inference": Expected(
        ("launch-bound",), twin=("graph", "no_submit_cost"), options=("--seconds", "9")
    ),
    "lightning_program": Expected(("compute-bound",)),
    "hf_trainer": Expected(("launch-bound", "python-bound")),
    "transformer fp32": Expected(
        ("launch-bound", "python-bound", "compute-bound", "memory-bound"),
        never=("launch-bound", "strong"),
        program="transformer",
    ),
    "transformer bf16": Expected(
        ("launch-bound",), program="transformer", options=("--twin", "bf16")
    ),
}


def planted(program: Path) -> int | None:
    """The line that holds the planted cause."""
    lines = program.read_text("utf-8").splitlines()
    return next((i for i, text in enumerate(lines, 1) if text.endswith("# planted")), None)


def places(name: str, expected: Expected, out: Path) -> tuple[Path, Path, Path]:
    """The program, the folder of its recording, and what its twin measured."""
    program = PROGRAMS / f"{expected.program or name}.py"
    return program, out / name.replace(" ", "_"), out / f"{name}.twin.json"


def observe(name: str, expected: Expected, out: Path, seconds: float) -> dict[str, Any]:
    """Run one program under ``boundby run`` and hold what it says against what was expected."""
    program, folder, twin = places(name, expected, out)
    command = [sys.executable, "-m", "boundby", "run", "--json", "--steps", "80"]
    command += ["--folder", str(folder), str(program), "--seconds", str(seconds)]
    command += [*expected.options]
    if expected.twin:
        command += ["--twin", expected.twin[0], "--out", str(twin)]
    began = time.monotonic()
    try:
        done = subprocess.run(  # noqa: S603 -- the programs of this repository
            command, capture_output=True, text=True, timeout=LIMIT_S, check=False
        )
        document = json.loads(done.stdout)
    except (subprocess.TimeoutExpired, ValueError) as error:
        text = getattr(error, "stderr", None) or getattr(done, "stderr", "")
        return {"name": name, "error": f"{type(error).__name__}: {str(text)[-1500:]}"}
    found = {"name": name, "code": done.returncode, "seconds": time.monotonic() - began}
    return found | held_against(document, expected, program, twin)


def judged_again(name: str, expected: Expected, out: Path) -> dict[str, Any]:
    """The same of a recording that is there already: no device is needed."""
    program, folder, twin = places(name, expected, out)
    command = [sys.executable, "-m", "boundby", "report", "--json", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)  # noqa: S603 -- ours
    return {"name": name} | held_against(json.loads(done.stdout), expected, program, twin)


def held_against(
    document: dict[str, Any], expected: Expected, program: Path, twin: Path
) -> dict[str, Any]:
    """What the report says, against what was expected and what the twin took."""
    found = summary(document, expected, planted(program))
    if twin.is_file():
        found["twin"] = against_twin(document, expected, json.loads(twin.read_text("utf-8")))
    return found


def summary(document: dict[str, Any], expected: Expected, line: int | None) -> dict[str, Any]:
    """What the report says, in a few numbers, and whether it is right."""
    verdict, live = document["verdict"], document["live"]
    said = (verdict["class"], verdict.get("strength"))
    found: dict[str, Any] = {
        "verdict": said,
        "cause": verdict.get("cause"),
        "reason": verdict.get("undecided_reason"),
        "right": said[0] in expected.classes and said != expected.never,
        "source": live["source"],
        "finished": live["finished"],
        "clocks": live["clocks"],
        "ratios": {each["name"]: each["ratio"] for each in live["passes"]},
        "problems": live["problems"],
        "waterfall": {p["part"]: round(p["share"], 3) for p in document.get("waterfall", [])},
        "steps": document.get("steps"),
        "surroundings": live["surroundings"],
        "memory": live["memory"],
        "prescriptions": [each["id"] for each in document.get("prescriptions", [])][:5],
        "what_if": {w["id"]: w["step_ms"] for w in document.get("what_if", [])},
    }
    if expected.lines:
        facts = [fact for fact in document["evidence"] if fact["id"] == expected.lines]
        top = [place["line"] for fact in facts[:3] for place in fact["where"]]
        found |= {"lines": top, "planted": line, "line_named": top[:1] == [line]}
    return found


def against_twin(
    document: dict[str, Any], expected: Expected, measured: dict[str, Any]
) -> dict[str, Any]:
    """The prediction and the twin, measured in turn with its base."""
    assert expected.twin is not None  # noqa: S101 - asked for
    predicted = {w["id"]: w["step_ms"] for w in document.get("what_if", [])}
    ms = predicted.get(expected.twin[1])
    low, high = min(measured["twins"]), max(measured["twins"])
    off = None if ms is None else max(low / ms - 1, ms / high - 1, 0.0)
    return {
        "edit": expected.twin[1],
        "predicted_ms": ms,
        "twin_ms": [low, measured["twin_ms"], high],
        "base_ms": [min(measured["bases"]), measured["base_ms"], max(measured["bases"])],
        "off": off,
        "met": off is not None and off <= NEAR,
    }


def overhead() -> dict[str, Any]:
    """Steps with the marks of the clean pass against steps without, in pairs; their own time."""
    import torch

    sys.path.insert(0, str(PROGRAMS))
    import launch_bound  # noqa: PLC0415

    from boundby.capture.device import made_events, spacing  # noqa: PLC0415
    from boundby.capture.plan import Plan  # noqa: PLC0415
    from boundby.capture.running import start  # noqa: PLC0415

    os.environ["BOUNDBY_PARENT"] = "1"
    step = launch_bound.build()
    for _ in range(50):
        step()
    plan = Plan(steps=10**7, passes=("clean",), memory=False)
    observer = start(plan, Path(sys.argv[2]) / "overhead")
    optimizers = observer._optimizers  # noqa: SLF001
    for _ in range(100):  # past warm-up and the first clean pass, into the long one
        step()

    clock = observer._pass._clock  # noqa: SLF001 -- as often as in a user's program, to the end:
    clock.every = spacing(CLEAN_STEPS)
    clock._next = 0  # noqa: SLF001
    clock._free = made_events(8 * PAIRS)  # noqa: SLF001

    def run() -> float:
        torch.cuda.synchronize()
        begin = time.perf_counter()
        for _ in range(PAIR_STEPS):
            step()
        torch.cuda.synchronize()
        return (time.perf_counter() - begin) * 1e3 / PAIR_STEPS

    gc.collect()
    gc.disable()
    ratios, without = [], []
    for _ in range(PAIRS):
        before = run()
        optimizers.remove()
        without.append(run())
        optimizers.install()
        ratios.append((before + run()) / 2 / without[-1])
    name = observer._pass.name if observer._pass else None  # noqa: SLF001
    return {
        "step_ms": median(without),
        "ratio": median(ratios),
        "ratio_95": interval(ratios),
        "pairs": PAIRS,
        "pass": name,
        "steps_an_event": clock.every,
        "events": len(clock._pending),  # noqa: SLF001
        "marks_us": marks_us(optimizers, step),
        "parts_us": parts_us(step),
    }


def interval(values: list[float]) -> tuple[float, float]:
    """95% interval of the median, by the order of the values (binomial, normal approximation)."""
    ranked, half = sorted(values), 0.98 * len(values) ** 0.5
    low, high = int(len(values) / 2 - half), int(len(values) / 2 + half)
    return ranked[max(low, 0)], ranked[min(high, len(values) - 1)]


def parts_us(step: Any) -> dict[str, float]:  # noqa: ANN401 -- a function
    """Host time of what a mark is made of, each as the first thing after a step."""
    import torch

    from boundby.capture.device import is_capturing  # noqa: PLC0415

    made = torch.cuda.Event(enable_timing=True)
    parts = {
        "nothing": lambda: None,
        "is_capturing": is_capturing,
        "new_event": lambda: torch.cuda.Event(enable_timing=True).record(),
        "event": made.record,
    }
    taken: dict[str, list[int]] = {name: [] for name in parts}
    for _ in range(PAIRS // 6):
        for name, part in parts.items():
            step()
            begin = time.perf_counter_ns()
            part()
            taken[name].append(time.perf_counter_ns() - begin)
    return {name: median(each) / 1e3 for name, each in taken.items()}


def marks_us(optimizers: Any, step: Any) -> float:  # noqa: ANN401 -- the observer's, a function
    """Host time of the marks of a step, the mean of some: not every mark records an event."""
    taken: list[int] = []
    real = optimizers._after_step  # noqa: SLF001

    def watched(*arguments: Any) -> None:  # noqa: ANN401 -- torch's
        begin = time.perf_counter_ns()
        real(*arguments)
        taken.append(time.perf_counter_ns() - begin)

    optimizers.remove()
    optimizers._after_step = watched  # noqa: SLF001
    optimizers.install()
    for _ in range(PAIRS):
        step()
    return fmean(taken) / 1e3


def out_of_memory(out: Path) -> dict[str, Any]:
    """A program that runs out of device memory: what is left of it."""
    command = [sys.executable, "-m", "boundby", "run", "--json", "--folder", str(out / "oom")]
    command.append(str(PROGRAMS / "out_of_memory.py"))
    done = subprocess.run(  # noqa: S603 -- a program of this repository
        command, capture_output=True, text=True, timeout=LIMIT_S, check=False
    )
    live = json.loads(done.stdout)["live"]
    ending, snapshot = live["ending"], live["snapshot"]
    return {
        "code": done.returncode,
        "exception": ending["exception"],
        "asked_and_free": ending["out_of_memory"],
        "snapshot_bytes": Path(snapshot).stat().st_size if snapshot else None,
        "our_frames": done.stderr.count("boundby/capture"),
    }


def pack(out: Path) -> None:
    """The recordings in one archive."""
    with tarfile.open(out / "recordings.tar.gz", "w:gz") as archive:
        for folder in sorted(each for each in out.iterdir() if each.is_dir()):
            archive.add(folder, folder.name)


def row(found: dict[str, Any]) -> str:
    """One line of the table."""
    if "error" in found:
        return f"{found['name']:<18} {found['error']}"
    clocks, twin = found["clocks"], found.get("twin")
    text = f"{found['name']:<18} {'right' if found['right'] else 'WRONG'} {found['verdict']} "
    text += f"{found['reason'] or ''} cause {found['cause']} by {found['source']} "
    text += f"submit {clocks['submit']} device {clocks['device']} wall {clocks['wall']} "
    text += f"finished {found['finished']} {found['problems']} {found['ratios']} "
    if "line_named" in found:
        text += f"planted {found['planted']} named {found['line_named']} {found['lines']} "
    return text + (f"twin {twin}" if twin else "")


def main() -> None:
    """Run all, print the table, write the numbers."""
    if sys.argv[1] == "--overhead":
        print(json.dumps(overhead()))  # noqa: T201
        return
    parser = argparse.ArgumentParser(description="Check boundby run on a device.")
    parser.add_argument("out", type=Path, metavar="OUT")
    parser.add_argument("--only", nargs="*", default=[], metavar="NAME")
    parser.add_argument("--seconds", type=float, default=7.0)
    parser.add_argument(
        "--again", action="store_true", help="judge the recordings in OUT anew, alone"
    )
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    folder = options.out / "folders"
    folder.mkdir(exist_ok=True)
    results = []
    asked = {name: each for name, each in EXPECTED.items() if name in (options.only or EXPECTED)}
    for name, expected in asked.items():
        if not options.again:
            results.append(observe(name, expected, folder, options.seconds))
        elif places(name, expected, folder)[1].is_dir():
            results.append(judged_again(name, expected, folder))
        else:
            continue
        print(row(results[-1]), flush=True)  # noqa: T201
        (options.out / "run.json").write_text(json.dumps({"programs": results}), "utf-8")
    if options.again:
        return
    command = [sys.executable, __file__, "--overhead", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
    paired = json.loads(done.stdout.splitlines()[-1]) if done.returncode == 0 else done.stderr
    print("overhead", paired)  # noqa: T201
    memory = out_of_memory(folder)
    print("out of memory", memory)  # noqa: T201
    shutil.rmtree(folder / "oom")  # its snapshot may be large
    found = {"programs": results, "overhead": paired, "out_of_memory": memory}
    (options.out / "run.json").write_text(json.dumps(found, indent=1), "utf-8")
    pack(folder)
    (folder / "recordings.tar.gz").replace(options.out / "recordings.tar.gz")


if __name__ == "__main__":
    main()
