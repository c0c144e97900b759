"""Plants causes of memory trouble under ``boundby run``, checks verdict and line; measures peaks.

Needs torch with CUDA; the check needs boundby too, and may run elsewhere on the recorded folders::

    PYTHONPATH=src python gpu/memory_verify.py OUT            # record and check
    PYTHONPATH=src python gpu/memory_verify.py OUT --record   # record alone
    PYTHONPATH=src python gpu/memory_verify.py OUT --check    # check what lies in OUT

OUT gets the folder of a run for each program of ``memory_plants.py``, what came out of it
(``NAME.stderr``), and ``measured.json``: peaks of the case study, exit codes, the versions. The
exit code is 1 where a verdict, a line, a traceback or a predicted peak is wrong.
"""
# ruff: noqa: ANN401, PLC0415, T201 (torch is handed around, imported where needed; it prints)

from __future__ import annotations

import argparse
import gc
import json
import math
import subprocess
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))

from memory_plants import MIB, PLANTS, line_of

WITHIN = 0.10
SCRIPT = Path(__file__).with_name("memory_plants.py")
OPTIONS = ("--passes", "clean,trace,memory", "--steps", "5", "--quiet")
EXPECTED = {
    "leak_graph": ("leak", "loss-graph"),
    "leak_list": ("leak", "kept-outputs"),
    "fragmentation": ("fragmentation", "pinned-segments"),
    "peak": ("transient-peak", "attention-scores"),
    "full": ("really-full", "limit"),
}
RUNS_OUT = frozenset({"fragmentation", "full"})
"""These end in an uncaught error, which must be the program's own."""

HOLDS_A_MODEL = frozenset({"leak_graph", "leak_list"})
"""Of these the parameters must be known exactly, by the pointers that the run wrote."""


def record(out: Path) -> None:
    """Measure the case study, then run every program under ``boundby run``."""
    import torch

    out.mkdir(parents=True, exist_ok=True)
    cases = {name: measure(torch, case) for name, case in CASES.items()}
    for name, found in cases.items():
        print(f"{name:32} {found['peak_mib']:9.0f} MiB {found['ms']:8.2f} ms", flush=True)
    codes = {plant.__name__: run_plant(out, plant.__name__) for plant in PLANTS}
    versions = {"torch": torch.__version__, "device": torch.cuda.get_device_name(0)}
    (out / "measured.json").write_text(
        json.dumps({"versions": versions, "cases": cases, "codes": codes}, indent=1)
    )


def run_plant(out: Path, name: str) -> int:
    """One program under ``boundby run``; its exit code."""
    snapshot = () if name in RUNS_OUT else ("--snapshot",)
    command = [sys.executable, "-m", "boundby", "run", *OPTIONS, *snapshot]
    command += ["--folder", str(out / name), "-o", str(out / f"{name}.md"), "--force"]
    done = subprocess.run([*command, str(SCRIPT), name], capture_output=True, check=False)  # noqa: S603 -- the plants
    (out / f"{name}.stderr").write_bytes(done.stderr)
    print(f"ran {name}: exit code {done.returncode}", flush=True)
    return done.returncode


def check(out: Path) -> int:
    """Compare verdicts, lines, tracebacks and predicted peaks; how many are wrong."""
    known = json.loads((out / "measured.json").read_text())
    wrong = 0
    for plant in PLANTS:
        name = plant.__name__
        mistakes = [
            *mistakes_of(name, document_of(out / name), line_of(plant)),
            *ending_mistakes(name, (out / f"{name}.stderr").read_text(), known["codes"][name]),
        ]
        wrong += bool(mistakes)
        print(f"{name:16} {'; '.join(mistakes) or 'ok'}")
    return wrong + check_peaks(known["cases"])


def document_of(folder: Path) -> dict[str, Any]:
    """What ``boundby run`` says about a kept recording."""
    command = [sys.executable, "-m", "boundby", "run", "--read", str(folder), "--json"]
    done = subprocess.run(command, capture_output=True, check=True)  # noqa: S603 -- boundby itself
    return json.loads(done.stdout)


def mistakes_of(name: str, document: dict[str, Any], line: int) -> list[str]:
    """What is wrong with the memory part of a run's document: verdict, cause, line, composition."""
    memory = document["memory"]
    if memory is None:
        return ["no memory in the document"]
    verdict = (memory["verdict"]["class"], memory["verdict"]["cause"])
    found = [f"{verdict} for {EXPECTED[name]}"] if verdict != EXPECTED[name] else []
    advised = [place for each in memory["prescriptions"][:1] for place in each["where"]]
    held = [place for each in memory["peak"]["holders"] for place in each["where"][:1]]
    lines = [place["line"] for place in (*advised, *held) if place["function"] == name]
    if lines[:1] != [line]:
        found.append(f"line {lines[:1]} for {line}")
    exact = {each["part"] for each in memory["composition"] if each["confidence"] == "exact"}
    if name in HOLDS_A_MODEL and "parameters" not in exact:
        found.append("parameters are not named exactly")
    return found


def ending_mistakes(name: str, stderr: str, code: int) -> list[str]:
    """What is wrong with how the program ended: its own code, its own traceback."""
    if name not in RUNS_OUT:
        return [f"exit code {code}"] if code else []
    found = [] if code == 1 else [f"exit code {code}"]
    if "OutOfMemoryError" not in stderr or SCRIPT.name not in stderr:
        found.append("its own traceback is missing")
    if "boundby/capture" in stderr:
        found.append("a frame of boundby in the traceback")
    return found


# --- The case study ----------------------------------------------------------------------------


def net(torch: Any, *, sdpa: bool = False, every: int = 0) -> Any:
    """Twelve pre-norm blocks; ``every`` 1 computes all of them again, k keeps each k-th."""
    nn, functional = torch.nn, torch.nn.functional

    class Block(nn.Module):  # type: ignore[misc]
        def __init__(self, d: int = 512) -> None:
            super().__init__()
            self.ln1, self.ln2 = nn.LayerNorm(d), nn.LayerNorm(d)
            self.qkv, self.proj = nn.Linear(d, 3 * d), nn.Linear(d, d)
            self.fc1, self.fc2 = nn.Linear(d, 4 * d), nn.Linear(4 * d, d)

        def attend(self, x: Any) -> Any:
            b, t, d = x.shape
            q, k, v = (y.view(b, t, 8, -1).transpose(1, 2) for y in self.qkv(x).split(d, dim=-1))
            if sdpa:
                y = functional.scaled_dot_product_attention(q, k, v)
            else:
                y = ((q @ k.transpose(-2, -1)) / math.sqrt(q.size(-1))).softmax(dim=-1) @ v
            return self.proj(y.transpose(1, 2).reshape(b, t, d))

        def forward(self, x: Any) -> Any:
            x = x + self.attend(self.ln1(x))
            return x + self.fc2(functional.gelu(self.fc1(self.ln2(x))))

    class Net(nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.blocks = nn.ModuleList(Block() for _ in range(12))

        def forward(self, x: Any) -> Any:
            from torch.utils.checkpoint import checkpoint

            for number, block in enumerate(self.blocks):
                again = every == 1 or (every > 1 and number % every)
                x = checkpoint(block, x, use_reentrant=False) if again else block(x)
            return x

    return Net()


CASES: dict[str, dict[str, Any]] = {
    "fp32 b8": {"batch": 8},
    "fp32 b64": {"batch": 64},
    "bf16 b64": {"batch": 64, "autocast": "bf16"},
    "bf16 sdpa b64": {"batch": 64, "autocast": "bf16", "sdpa": True},
    "fp32 sdpa b64": {"batch": 64, "sdpa": True},
    "bf16 b8": {"batch": 8, "autocast": "bf16"},
    "bf16 checkpoint all b64": {"batch": 64, "autocast": "bf16", "every": 1},
    "bf16 checkpoint 2 b64": {"batch": 64, "autocast": "bf16", "every": 2},
    "bf16 sdpa checkpoint all b64": {"batch": 64, "autocast": "bf16", "sdpa": True, "every": 1},
}


def measure(torch: Any, case: dict[str, Any]) -> dict[str, float]:
    """Peak MiB and milliseconds of a step, the third on."""
    gc.collect()
    torch.cuda.empty_cache()
    model = net(torch, sdpa=case.get("sdpa", False), every=case.get("every", 0)).cuda()
    data = torch.randn(case["batch"], 512, 512, device="cuda")
    optimizer = torch.optim.AdamW(model.parameters())
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    times = []
    for step in range(8):
        if step == 2:  # noqa: PLR2004 -- the first two warm up
            torch.cuda.synchronize()
            torch.cuda.reset_peak_memory_stats()
        begin.record()
        with torch.autocast("cuda", torch.bfloat16, enabled=case.get("autocast") == "bf16"):
            out = model(data)
        out.float().pow(2).mean().backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        end.record()
        torch.cuda.synchronize()
        times.append(begin.elapsed_time(end))
    peak_mib = torch.cuda.max_memory_allocated() / MIB
    return {"peak_mib": peak_mib, "ms": sorted(times[2:])[len(times[2:]) // 2]}


def check_peaks(cases: dict[str, dict[str, float]]) -> int:
    """How many predicted peaks are off by more than a tenth."""
    import torch

    from boundby.memory.predict import predict_plan

    wrong = 0
    for name, case in CASES.items():

        def build(batch: int, case: dict[str, Any] = case) -> dict[str, Any]:
            return {
                "model": net(torch, sdpa=case.get("sdpa", False)),
                "inputs": (torch.randn(batch, 512, 512),),
                "autocast": case.get("autocast"),
            }

        predicted = predict_plan(build, case["batch"], case.get("every", 0)).peak / MIB
        measured = cases[name]["peak_mib"]
        error = predicted / measured - 1
        wrong += abs(error) > WITHIN
        print(f"{name:32} measured {measured:8.0f}, predicted {predicted:8.0f} MiB ({error:+.1%})")
    return wrong


def main() -> int:
    """Record, check, or both."""
    parser = argparse.ArgumentParser(
        description="Plant causes of memory trouble under a run and check the verdicts."
    )
    parser.add_argument("out", type=Path)
    parser.add_argument("--record", action="store_true")
    parser.add_argument("--check", action="store_true")
    chosen = parser.parse_args()
    if chosen.record or not chosen.check:
        record(chosen.out)
    return min(check(chosen.out), 1) if chosen.check or not chosen.record else 0


if __name__ == "__main__":
    sys.exit(main())
