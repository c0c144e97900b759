"""Clocks: the step without the profiler, the step under it, and the step of its twins.

A *run* is a number of steps between two synchronizations, a *block* the runs whose median counts.
Blocks of a program and of its twin alternate run by run, since host times drift within seconds; a
yardstick beside each run says how fast the host is just then. A process that has recorded once
stays slower, so the clean step is what was measured before the first recording.
"""
# ruff: noqa: TID253 (torch is what is measured)

from __future__ import annotations

import gc
import time
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import torch
from programs.program import Step
from torch.profiler import ProfilerActivity, profile, schedule

MS = 1e3
US = 1e6
RUN_S = 0.1
RUNS = 3  # to a block
BLOCKS = 3  # before recording, and again after it
YARDSTICK_ROUNDS = 20_000
MOST_STEPS = 2000  # to a run
UNTIMED_STEPS = 5  # before each run, to use up what loader workers had time to prefetch
WARM_UP_S = (0.3, 1.5)  # at least, at most
STEADY = 0.97  # a run this much faster than the one before is still warming up
SUBMITS = 9
WAIT, WARM_UP, ACTIVE = 1, 2, 3  # the profiler's schedule, in steps


@dataclass(frozen=True)
class Block:
    """Runs of one variant.

    Attributes:
        variant: ``base`` or the name of the twin.
        when: Before the recordings, beside a twin, or after the recordings.
        runs_ms: Milliseconds a step, the mean of each run.
        yardsticks_us: What the yardstick showed after each run.
    """

    variant: str
    when: str
    runs_ms: tuple[float, ...]
    yardsticks_us: tuple[float, ...]


@dataclass(frozen=True)
class Graphed:
    """A step captured in a CUDA graph; called, it replays."""

    graph: torch.cuda.CUDAGraph
    step: Step  # kept, because it owns the tensors that the graph reads

    def __call__(self) -> None:
        """Replay the step."""
        self.graph.replay()


def yardstick_us() -> float:
    """Microseconds that the same piece of Python takes: the speed of the host just now."""
    begin = time.perf_counter()
    total = 0
    for index in range(YARDSTICK_ROUNDS):
        total += index
    return (time.perf_counter() - begin) * US


def run_of(step: Step, steps: int) -> float:
    """Milliseconds a step, over steps submitted without waiting in between."""
    torch.cuda.synchronize()
    begin = time.perf_counter()
    for _ in range(steps):
        step()
    torch.cuda.synchronize()
    return (time.perf_counter() - begin) * MS / steps


@dataclass(frozen=True)
class Paced:
    """A warm step, and how many of them fill a run."""

    variant: str
    step: Step
    steps: int

    def run(self) -> tuple[float, float]:
        """One run: ms a step, and the yardstick after it."""
        for _ in range(min(UNTIMED_STEPS, self.steps)):
            self.step()
        return run_of(self.step, self.steps), yardstick_us()

    def block(self, when: str, runs: list[tuple[float, float]]) -> Block:
        """Runs as a block."""
        times, yardsticks = zip(*runs, strict=True)
        return Block(self.variant, when, times, yardsticks)


def steps_in(seconds: float, step_ms: float) -> int:
    """How many steps take about this long."""
    return max(3, min(MOST_STEPS, round(seconds * MS / step_ms)))


def warmed(variant: str, step: Step) -> Paced:
    """Run a step until it is no longer getting faster."""
    begin = time.perf_counter()
    run_of(step, 1)
    last = run_of(step, 3)
    while True:
        now = run_of(step, steps_in(RUN_S / 2, last))
        spent = time.perf_counter() - begin
        is_steady = spent > WARM_UP_S[0] and now > STEADY * last
        last = now
        if is_steady or spent > WARM_UP_S[1]:
            return Paced(variant, step, steps_in(RUN_S, now))


def blocks_of(paced: Paced, when: str) -> list[Block]:
    """Clean blocks, one after the other."""
    return [paced.block(when, [paced.run() for _ in range(RUNS)]) for _ in range(BLOCKS)]


def interleaved(base: Paced, cured: Paced) -> list[Block]:
    """A block of each, alternating run by run, base first and last."""
    base_runs, cured_runs = [base.run()], []
    for _ in range(RUNS):
        cured_runs.append(cured.run())
        base_runs.append(base.run())
    when = f"beside {cured.variant}"
    return [base.block(when, base_runs), cured.block(when, cured_runs)]


def submit_ms(step: Step) -> float:
    """Host time until one step returns, from an empty queue."""
    times = []
    for _ in range(SUBMITS):
        torch.cuda.synchronize()
        begin = time.perf_counter()
        step()
        times.append((time.perf_counter() - begin) * MS)
    torch.cuda.synchronize()
    return median(times)


def graphed(step: Step) -> Graphed:
    """Capture the whole step in a CUDA graph."""
    aside = torch.cuda.Stream()
    aside.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(aside):
        for _ in range(3):
            step()
    torch.cuda.current_stream().wait_stream(aside)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        step()
    return Graphed(graph, step)


def record(step: Step, path: Path, *, stacks: bool) -> float:
    """Record three steps into a file; the ms a step that a stopwatch shows around them.

    The stopwatch and its two synchronizations lie inside the recorded window.
    """
    activities = [ProfilerActivity.CPU, ProfilerActivity.CUDA]
    plan = schedule(wait=WAIT, warmup=WARM_UP, active=ACTIVE)
    begin = spent = 0.0
    last = WAIT + WARM_UP + ACTIVE - 1
    with profile(
        activities=activities, schedule=plan, record_shapes=True, with_stack=stacks
    ) as profiler:
        for index in range(last + 1):
            if index == WAIT + WARM_UP:
                torch.cuda.synchronize()
                begin = time.perf_counter()
            step()
            if index == last:
                torch.cuda.synchronize()
                spent = time.perf_counter() - begin
            profiler.step()
    profiler.export_chrome_trace(str(path))
    return spent * MS / ACTIVE


def free() -> None:
    """Give the memory of dropped steps back."""
    gc.collect()
    torch.cuda.empty_cache()
