"""What the programs share: sizes by device, a loop of some steps or seconds, and twins.

Every program is an ordinary script: nothing in it knows boundby. ``--twin NAME`` makes it measure
itself, once the loop is over, against the same step with one thing cured, run by run in turn, and
write both to ``--out``.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

import torch

Step = Callable[[], object]

CUDA = torch.cuda.is_available()
DEVICE = "cuda" if CUDA else "cpu"
RUNS = 5
RUN_S = 0.15


def size(on_device: int, on_host: int) -> int:
    """A size that makes sense here: the class of a program shows on a device alone."""
    return on_device if CUDA else on_host


def arguments(description: str) -> argparse.Namespace:
    """The options of every program."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--steps", type=int, default=0, help="stop after so many steps")
    parser.add_argument("--seconds", type=float, default=12.0, help="else after so much time")
    parser.add_argument("--twin", help="measure against this cure afterwards")
    parser.add_argument("--out", type=Path, help="where to write what was measured")
    parser.add_argument("--losses", type=Path, help="where to write the losses")
    chosen = parser.parse_args()
    torch.manual_seed(0)
    return chosen


def lasting(chosen: argparse.Namespace) -> Callable[[], bool]:
    """Whether to go on, asked once a step."""
    begin, left = time.monotonic(), [chosen.steps]

    def goes_on() -> bool:
        if chosen.steps:
            left[0] -= 1
            return left[0] >= 0
        return time.monotonic() - begin < chosen.seconds

    return goes_on


def wait() -> None:
    """Wait for the device, if there is one."""
    if CUDA:
        torch.cuda.synchronize()


def run_of(step: Step, steps: int) -> float:
    """Milliseconds a step, between two waits."""
    wait()
    begin = time.perf_counter()
    for _ in range(steps):
        step()
    wait()
    return (time.perf_counter() - begin) * 1e3 / steps


def finish(chosen: argparse.Namespace, base: Step, twins: dict[str, Callable[[], Step]]) -> None:
    """Measure base and twin in turn, where a twin was asked for."""
    if not chosen.twin:
        return
    twin = twins[chosen.twin]()
    for step in (base, twin):
        run_of(step, 5)
    counts = [max(3, int(RUN_S * 1e3 / run_of(step, 5))) for step in (base, twin)]
    bases, twinned = [run_of(base, counts[0])], []
    for _ in range(RUNS):
        twinned.append(run_of(twin, counts[1]))
        bases.append(run_of(base, counts[0]))
    found = {"base_ms": median(bases), "twin_ms": median(twinned)}
    found |= {"bases": bases, "twins": twinned}
    chosen.out.write_text(json.dumps(found), "utf-8")


def graphed(step: Step) -> Step:
    """The whole step as one CUDA graph; its replay."""
    aside = torch.cuda.Stream()
    aside.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(aside):
        for _ in range(3):
            step()
    torch.cuda.current_stream().wait_stream(aside)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        step()
    return graph.replay


def mlp(width: int, layers: int, classes: int | None = None) -> torch.nn.Sequential:
    """Linear layers with GELU between them."""
    parts: list[torch.nn.Module] = []
    for _ in range(layers):
        parts += [torch.nn.Linear(width, width), torch.nn.GELU()]
    if classes:
        parts.append(torch.nn.Linear(width, classes))
    return torch.nn.Sequential(*parts).to(DEVICE)
