"""What ``bench``, ``check`` and ``compare`` promise, held against a real device.

    python -m gpu.verify_bench --out verify_bench.json

Prints a line a check and exits with 1 where one fails. Takes about two minutes on an H200.
"""
# ruff: noqa: T201, TID253 (a script, and torch is what is measured)

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812 -- its usual name
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.benchmark import Timer

from boundby.bench.correctness import Check, check
from boundby.bench.live import compare_functions
from boundby.bench.machine import CudaMachine
from boundby.bench.measure import bench
from boundby.bench.sampling import Plan, sample_device, sample_wall
from boundby.bench.streams import find_races
from boundby.bench.syncs import watch_syncs
from boundby.bench.timercheck import TimerCheck, check_timer

AGREE = 0.03
GRAPH_CALLS = 10
GRAPH_REPLAYS = 5
SPIN_CYCLES = 2_000_000  # about 1 ms
ROUNDS = 5
ROUND_S = 0.1
BATCH, TOKENS, HEADS, HEAD = 8, 512, 8, 64

Call = Callable[[], object]


@dataclass(frozen=True)
class Outcome:
    """One check: whether it holds, and the figures it rests on."""

    name: str
    holds: bool
    figures: dict[str, Any]


def main() -> int:
    """Run all checks, print and keep them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    begin = time.perf_counter()
    found = []
    for outcome in every_check():
        found.append(outcome)
        word = "ok  " if outcome.holds else "FAIL"
        print(f"{word} {outcome.name}: {json.dumps(outcome.figures)}", flush=True)
    where = {
        "device": torch.cuda.get_device_name(),
        "torch": torch.__version__,
        "cudnn": torch.backends.cudnn.version(),
        "seconds": round(time.perf_counter() - begin, 1),
    }
    print(json.dumps(where))
    if arguments.out:
        body = {"where": where, "checks": [asdict(each) for each in found]}
        arguments.out.write_text(json.dumps(body, indent=1) + "\n")
    return 0 if all(each.holds for each in found) else 1


def every_check() -> Iterator[Outcome]:
    """All checks, the cheap ones first; an exception is a failure of its own."""
    for make in (timers, clocks, correctness, comparisons, streams, compiled):
        try:
            yield from make()
        except Exception as error:  # noqa: BLE001 -- the others still run
            yield Outcome(
                make.__name__,
                holds=False,
                figures={"error": f"{type(error).__name__}: {error}"[:500]},
            )


def timers() -> Iterator[Outcome]:
    """A clock that does not wait is told so, by the roofline and by the work left behind."""
    a = torch.randn(8192, 8192, device="cuda")
    b = torch.randn(8192, 8192, device="cuda")
    torch.mm(a, b)

    def careless() -> float:
        begin = time.perf_counter()
        torch.mm(a, b)
        return time.perf_counter() - begin

    def careful() -> float:
        torch.cuda.synchronize()
        begin = time.perf_counter()
        torch.mm(a, b)
        torch.cuda.synchronize()
        return time.perf_counter() - begin

    bad, good = check_timer(careless, torch.mm, a, b), check_timer(careful, torch.mm, a, b)
    missed = {each.id for each in bad.missed}
    yield Outcome("timer without a wait", "above-roofline" in missed, _timer(bad))
    yield Outcome("timer that waits", not good.missed, _timer(good))


def _timer(found: TimerCheck) -> dict[str, Any]:
    return {
        "reported_ms": round(min(found.reported) * 1e3, 4),
        "floor_ms": round((found.work.floor_ns or 0) / 1e6, 3),
        "missed": [each.id for each in found.missed],
    }


def shapes() -> Iterator[tuple[str, Call]]:
    """Six large calls; operands fit the memory, not the last cache, of an H200."""
    cuda = {"device": "cuda"}
    half = {"device": "cuda", "dtype": torch.bfloat16}
    a, b = torch.randn(8192, 8192, **half), torch.randn(8192, 8192, **half)
    yield "mm 8192 bfloat16", lambda: torch.mm(a, b)
    c, d = torch.randn(4096, 4096, **cuda), torch.randn(4096, 4096, **cuda)
    yield "mm 4096 float32", lambda: torch.mm(c, d)
    e, f = torch.randn(1 << 28, **half), torch.randn(1 << 28, **half)
    yield "add 2^28 bfloat16", lambda: torch.add(e, f)
    g = torch.randn(16384, 8192, **cuda)
    yield "softmax 16384x8192 float32", lambda: torch.softmax(g, -1)
    h = torch.randn(32768, 4096, **half)
    yield "layer_norm 32768x4096 bfloat16", lambda: F.layer_norm(h, (4096,))
    q = torch.randn(16, 16, 2048, 64, **half)
    yield "attention 16x16x2048x64 bfloat16", lambda: F.scaled_dot_product_attention(q, q, q)


def clocks() -> Iterator[Outcome]:
    """The device clock against graph replay, wall time against torch, in turns: clocks drift."""
    machine, plan = CudaMachine(), Plan(min_run_ns=ROUND_S * 1e9)
    for name, call in shapes():
        first = bench(call, label=name, min_run_time=ROUND_S)
        replay = captured(call)
        submit = first.submit.summary.median
        taken: dict[str, list[float]] = {"device": [], "graph": [], "wall": [], "torch": []}
        for _ in range(ROUNDS):
            taken["device"] += sample_device(call, machine, plan, submit).ns
            taken["graph"] += replays(replay)
            taken["wall"] += sample_wall(call, machine, plan).ns
            timer = Timer("call()", globals={"call": call})
            taken["torch"] += [
                each * 1e9 for each in timer.blocked_autorange(min_run_time=ROUND_S).times
            ]
        figures: dict[str, Any] = {f"{k}_ms": round(median(v) / 1e6, 4) for k, v in taken.items()}
        figures["device_off"] = round(median(taken["device"]) / median(taken["graph"]) - 1, 4)
        figures["wall_off"] = round(median(taken["wall"]) / median(taken["torch"]) - 1, 4)
        figures["floor_ms"] = round((first.work.floor_ns or 0) / 1e6, 4)
        figures["trust"] = [each.id for each in first.trust]
        holds = abs(figures["device_off"]) <= AGREE and abs(figures["wall_off"]) <= AGREE
        yield Outcome(
            f"clocks, {name}", holds and "above-roofline" not in figures["trust"], figures
        )


def captured(call: Call) -> torch.cuda.CUDAGraph:
    """Several calls in a CUDA graph."""
    aside = torch.cuda.Stream()
    aside.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(aside):
        call()
    torch.cuda.current_stream().wait_stream(aside)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(GRAPH_CALLS):
            call()
    return graph


def replays(graph: torch.cuda.CUDAGraph) -> list[float]:
    """Device time of a call, ns, of several replays.

    Each starts behind a spinning kernel: else the first event passes while the host still launches
    the graph, which takes some 100 us on a virtual machine.
    """
    times = []
    for _ in range(GRAPH_REPLAYS):
        torch.cuda._sleep(SPIN_CYCLES)  # noqa: SLF001 -- there is no public one
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        graph.replay()
        end.record()
        torch.cuda.synchronize()
        times.append(begin.elapsed_time(end) / GRAPH_CALLS * 1e6)
    return times


def attention(backend: SDPBackend) -> Callable[[torch.Tensor], torch.Tensor]:
    """Attention over a packed projection, in bfloat16, by one backend."""

    def run(packed: torch.Tensor) -> torch.Tensor:
        with sdpa_kernel(backend):
            return F.scaled_dot_product_attention(*_heads(packed.bfloat16()))

    return run


def formula(packed: torch.Tensor) -> torch.Tensor:
    """The same by its formula."""
    q, k, v = _heads(packed)
    return ((q @ k.transpose(-2, -1)) / HEAD**0.5).softmax(-1) @ v


def _heads(packed: torch.Tensor) -> Iterator[torch.Tensor]:
    batch = packed.shape[0]
    parts = packed.split(HEADS * HEAD, -1)
    return (each.view(batch, TOKENS, HEADS, HEAD).transpose(1, 2) for each in parts)


def correctness() -> Iterator[Outcome]:
    """Right and wrong candidates, each with the figures that decided."""
    packed = torch.randn(BATCH, TOKENS, 3 * HEADS * HEAD, device="cuda")
    a, b = torch.randn(1024, 2048, device="cuda"), torch.randn(2048, 1024, device="cuda")
    x = torch.randn(2048, 4096, device="cuda")

    def halves(x: torch.Tensor) -> torch.Tensor:
        return x[:, 1::2].sum(1) + x[:, ::2].sum(1)

    cases: list[tuple[str, bool, Callable[..., Any], Callable[..., Any], tuple[Any, ...]]] = [
        ("cuDNN attention", False, attention(SDPBackend.CUDNN_ATTENTION), formula, (packed,)),
        ("flash attention", True, attention(SDPBackend.FLASH_ATTENTION), formula, (packed,)),
        ("bfloat16 matmul", True, lambda a, b: a.bfloat16() @ b.bfloat16(), torch.mm, (a, b)),
        ("reordered sum", True, halves, lambda x: x.sum(1), (x,)),
    ]
    for name, is_right, new, ref, inputs in cases:
        found = check(new, ref, *inputs)
        yield Outcome(f"check, {name}", found.passed is is_right, _check(found))


def compiled() -> Iterator[Outcome]:
    """A fused kernel that is right, and one with a bias."""
    x = torch.randn(2048, 2048, device="cuda")
    cases = [
        ("a bias of 1e-2", False, torch.compile(lambda x: F.gelu(x * 2 + 1) + 1e-2)),
        ("nothing wrong", True, torch.compile(lambda x: F.gelu(x * 2 + 1) + 0.0)),
    ]
    for name, is_right, new in cases:
        found = check(new, lambda x: F.gelu(x * 2 + 1), x, batch_sizes=())
        yield Outcome(f"check, fused kernel with {name}", found.passed is is_right, _check(found))


def _check(found: Check) -> dict[str, Any]:
    case, worst = found.worst
    return {
        "passed": found.passed,
        "runs": len(found.cases),
        "notes": list(found.notes),
        "held_to": found.precision,
        "worst": f"{worst.name}, {case.inputs}, {case.layout}",
        "error": float(f"{worst.error:.3g}"),
        "limit": float(f"{worst.limit:.3g}"),
        "by_layout": {
            each.layout: float(f"{max(a.error for a in each.agreements):.3g}")
            for each in found.cases
            if each.inputs == "as given"
        },
    }


def comparisons() -> Iterator[Outcome]:
    """Two programs that are alike, and one with 5% more work."""
    x = torch.randn(20_000_000, device="cuda")
    longer = torch.randn(21_000_000, device="cuda")
    for name, new, effect in (("alike", x, "same"), ("5% more", longer, "slower")):
        found = compare_functions(lambda t=new: t.add(1.0), lambda: x.add(1.0), budget_s=4)
        ratio = found.clocks[0].ratio
        figures = {
            "effect": found.effect,
            "ratio": [round(each, 4) for each in (ratio.low, ratio.estimate, ratio.high)],
            "pairs": ratio.pairs,
        }
        yield Outcome(f"compare, {name}", found.effect == effect, figures)


RACE = """
import torch
def step():
    x = torch.zeros(1 << 20, device="cuda")
    side = torch.cuda.Stream()
    {wait}
    with torch.cuda.stream(side):
        x.add_(1)
    torch.cuda.current_stream().wait_stream(side)
"""


def streams() -> Iterator[Outcome]:
    """A missing wait_stream is named, one that is there is not; a hidden wait is found."""
    with tempfile.TemporaryDirectory() as folder:
        for name, wait, count in (
            ("missing", "pass", 1),
            ("present", "side.wait_stream(torch.cuda.current_stream())", 0),
        ):
            path = Path(folder) / f"race_{name}.py"
            path.write_text(RACE.format(wait=wait))
            races = find_races(f"{path}::step")
            figures = {"races": [each.message.replace(folder, "") for each in races]}
            yield Outcome(f"wait_stream {name}", min(len(races), 1) == count, figures)
    x = torch.randn(1000, device="cuda")
    with watch_syncs() as found:
        float(x.sum())
        x.cpu()
    named = [each.what for each in found]
    yield Outcome("hidden syncs", len(found) >= 2, {"found": named})  # noqa: PLR2004 -- two calls


if __name__ == "__main__":
    sys.exit(main())
