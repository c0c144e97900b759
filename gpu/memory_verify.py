"""Plants causes of memory trouble on a device, checks verdict and line, and measures peaks.

Needs torch with CUDA; the check needs boundby too, and may run elsewhere on the recorded files::

    PYTHONPATH=src python gpu/memory_verify.py OUT            # record and check
    python gpu/memory_verify.py OUT --record                  # record alone
    PYTHONPATH=src python gpu/memory_verify.py OUT --check    # check what lies in OUT

OUT gets a snapshot a planted cause (``NAME.pickle.gz``) and ``measured.json``: peaks of the case
study, the texts of the planted failures, the versions. The exit code is 1 where a verdict, a line
or a predicted peak is wrong.
"""
# ruff: noqa: ANN401, PLC0415, T201 (torch is handed around, imported where needed; it prints)

from __future__ import annotations

import argparse
import gc
import gzip
import inspect
import json
import math
import pickle
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

MIB, GIB = 1 << 20, 1 << 30
WITHIN = 0.10
PLANT = "# planted"
EXPECTED = {
    "leak_graph": ("leak", "loss-graph"),
    "leak_list": ("leak", "kept-outputs"),
    "fragmentation": ("fragmentation", "pinned-segments"),
    "peak": ("transient-peak", "attention-scores"),
    "full": ("really-full", "limit"),
    "no_grad": ("transient-peak", "evaluation-without-no-grad"),
}


def leak_graph(torch: Any) -> None:
    """Keep the sum of the losses, and with it every graph."""
    model, data = layers(torch, 1024, 4), torch.randn(512, 1024, device="cuda")
    optimizer = torch.optim.AdamW(model.parameters(), fused=True)
    total = torch.zeros((), device="cuda")
    for _ in range(10):
        loss = model(data).pow(2).mean()  # planted
        loss.backward(retain_graph=True)
        optimizer.step()
        optimizer.zero_grad()
        total = total + loss


def leak_list(torch: Any) -> None:
    """Keep the output of every step."""
    model, outputs = layers(torch, 1024, 4), []
    for _ in range(12):
        with torch.no_grad():
            data = torch.randn(2048, 1024, device="cuda")
            outputs.append(model(data))  # planted


def fragmentation(torch: Any) -> None:
    """Keep one block of each segment, then ask for more than any segment holds."""
    with limit(torch, 3 * GIB):
        blocks = []
        for _ in range(540):
            block = torch.empty(5 * MIB, dtype=torch.uint8, device="cuda")  # planted
            blocks.append(block)
        del block
        kept = blocks[::4]
        del blocks
        ask(torch, 700 * MIB)
        del kept


def peak(torch: Any) -> None:
    """Write the scores of attention to memory."""
    shape = (4, 8, 4096, 64)
    q, k, v = (torch.randn(shape, device="cuda", requires_grad=True) for _ in range(3))
    for _ in range(3):
        out = torch.softmax(q @ k.transpose(-2, -1) / 8, dim=-1) @ v  # planted
        out.sum().backward()
        del out


def full(torch: Any) -> None:
    """Make more parameters than a limit allows."""
    with limit(torch, 4 * GIB):
        weights = []
        try:
            for _ in range(40):
                weight = torch.zeros(128 * MIB // 4, device="cuda")  # planted
                weights.append(weight)
        except torch.OutOfMemoryError as error:
            TEXTS["full"] = str(error)


def no_grad(torch: Any) -> None:
    """Evaluate with graphs, and keep what comes out."""
    model, results = layers(torch, 2048, 8), []
    for _ in range(5):
        data = torch.randn(4096, 2048, device="cuda")
        results.append(model(data))  # planted


PLANTS = (leak_graph, leak_list, fragmentation, peak, full, no_grad)
TEXTS: dict[str, str] = {}


class limit:  # noqa: N801 -- reads as a word
    """A limit on what the process may use, within a block."""

    def __init__(self, torch: Any, size: int) -> None:
        self.torch, self.size = torch, size

    def __enter__(self) -> None:
        whole = self.torch.cuda.get_device_properties(0).total_memory
        self.torch.cuda.set_per_process_memory_fraction(self.size / whole)

    def __exit__(self, *_: object) -> None:
        self.torch.cuda.set_per_process_memory_fraction(1.0)


def ask(torch: Any, size: int) -> None:
    """Ask for a block and keep the text of the refusal."""
    try:
        torch.empty(size, dtype=torch.uint8, device="cuda")
    except torch.OutOfMemoryError as error:
        TEXTS["fragmentation"] = str(error)


def layers(torch: Any, width: int, depth: int) -> Any:
    """Linear layers with GELU between them."""
    parts = [m for _ in range(depth) for m in (torch.nn.Linear(width, width), torch.nn.GELU())]
    return torch.nn.Sequential(*parts).cuda()


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


def record(out: Path) -> None:
    """Run every plant under the recorder, and the case study without it."""
    import torch

    out.mkdir(parents=True, exist_ok=True)
    cases = {name: measure(torch, case) for name, case in CASES.items()}
    for name, found in cases.items():
        print(f"{name:32} {found['peak_mib']:9.0f} MiB {found['ms']:8.2f} ms", flush=True)
    for plant in PLANTS:
        gc.collect()
        torch.cuda.empty_cache()
        torch.cuda.memory._record_memory_history(max_entries=100_000)  # noqa: SLF001 -- torch's way
        plant(torch)
        snapshot = torch.cuda.memory._snapshot()  # noqa: SLF001
        torch.cuda.memory._record_memory_history(enabled=None)  # noqa: SLF001
        raw = pickle.dumps(snapshot, protocol=4)
        (out / f"{plant.__name__}.pickle.gz").write_bytes(gzip.compress(raw, 6))
        print(f"recorded {plant.__name__}: {len(raw) >> 10} KiB", flush=True)
    versions = {"torch": torch.__version__, "device": torch.cuda.get_device_name(0)}
    (out / "measured.json").write_text(
        json.dumps({"versions": versions, "cases": cases, "texts": TEXTS}, indent=1)
    )


def check(out: Path) -> int:
    """Compare verdicts, lines, texts and predicted peaks; how many are wrong."""
    wrong = sum(not check_plant(out, plant) for plant in PLANTS)
    known = json.loads((out / "measured.json").read_text())
    return wrong + check_texts(known["texts"]) + check_peaks(known["cases"])


def check_plant(out: Path, plant: Callable[[Any], None]) -> bool:
    """Whether a planted cause gets its verdict and its line."""
    from boundby.memory.diagnose import diagnose
    from boundby.read.memory_snapshot import read_snapshot

    source, first = inspect.getsourcelines(plant)
    line = next(first + at for at, text in enumerate(source) if PLANT in text)
    found = diagnose(read_snapshot(out / f"{plant.__name__}.pickle.gz"))
    verdict = (found.verdict.name, found.verdict.cause)
    where = found.prescriptions[0].where if found.prescriptions else ()
    holders = [h.origin.place for h in found.case.peak.holders if h.origin.place]
    lines = [place.line for place in (*where, *holders) if place.function == plant.__name__]
    good = verdict == EXPECTED[plant.__name__] and bool(lines) and lines[0] == line
    print(f"{plant.__name__:16} {verdict} line {lines[:1]} of {line} {'ok' if good else 'WRONG'}")
    return good


def check_texts(texts: dict[str, str]) -> int:
    """How many texts of planted failures get another verdict than their snapshot."""
    from boundby.memory.message import diagnose_text
    from boundby.read.oom_message import read_oom_messages

    wrong = 0
    for name, text in texts.items():
        verdict = diagnose_text(read_oom_messages(text), text).verdict.name
        wrong += verdict != EXPECTED[name][0]
        print(f"text of {name}: {verdict}")
    return wrong


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
        description="Plant causes of memory trouble and check the verdicts."
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
