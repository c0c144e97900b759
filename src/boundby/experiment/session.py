"""What the process of a workload does when it is asked: gate, measure, trace, reference."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from statistics import median
from typing import Any

from boundby.bench.framework import torch, torch_module
from boundby.bench.runs import precisions
from boundby.bench.tolerance import lowest
from boundby.capture.compiled import compiled_frames
from boundby.experiment import gates
from boundby.experiment.changes import BY_ID
from boundby.experiment.machine import compile_seconds, peaks, traced
from boundby.experiment.program import Program, gradients, make_program
from boundby.experiment.reference import make_reference, named, scalar
from boundby.experiment.wire import TRACE, Answer, Request
from boundby.experiment.workload import facts_of, make_workload, refuse_small_batch

WARM_STEPS = 3
CLEAN_STEPS = 9


class WorkloadSession:
    """One workload with its changes in force, built when the first question needs it."""

    def __init__(self, request: Request, began: float) -> None:
        self._request = request
        self._began = began
        self._workload = make_workload(request.target)
        self._applied = tuple((BY_ID[name], value) for name, value in request.changes)
        self._program: Program | None = None
        self._first_s: float | None = None

    def operations(self) -> dict[str, Callable[..., Answer]]:
        """What can be asked, by name."""
        return {
            "reference": self.reference,
            "facts": self.facts,
            "gate": self.gate,
            "warm": self.warm,
            "measure": self.measure,
            "layouts": self.layouts,
            "trace": self.trace,
        }

    def reference(self, steps: int, seeds: int, precisions: list[str]) -> Answer:
        """Make the reference in the folder of this process."""
        folder, size = Path(self._request.folder), self._request.size
        return make_reference(self._workload, size, folder, precisions, steps, seeds)

    def facts(self) -> Answer:
        """What is known before any change, with the operations of a step."""
        program = make_program(self._workload, (), self._request.size)
        script = self._request.target.partition(":")[0]
        found = facts_of(program.build, script if script.endswith(".py") else None)
        computes = lowest(precisions(program.forward, (program.first,)))
        return asdict(replace(found, flops=_flops(program), computes=computes))

    def gate(self, reference: str, precision: str, steps: int) -> Answer:
        """Outputs and gradients of the first pass, then the losses of the first steps."""
        program = self._made()
        kept = gates.load_reference(reference)
        fields = gates.judge_tensors(named(gradients(program)), kept, precision)
        fields = gates.where_drawn_alike(fields, program.drawn, kept["drawn"])
        self._start(program)
        losses = self._steps(program, steps)
        loss = gates.judge_losses(losses, kept)
        note = gates.RANDOM if not kept["exact"] else gates.APART
        notes = [f"reference: {kept['where']}" if "tensors" in fields else note]
        return {"gate": gates.whole(fields, loss, "", notes), "losses": losses, **self._costs()}

    def warm(self, steps: int = WARM_STEPS) -> Answer:
        """Some steps, and how long one takes."""
        program = self._made()
        self._start(program)
        self._steps(program, steps)
        spent = self.measure(steps)["ns"]
        return {"step_ns": spent / steps, "samples": program.build.size, **self._costs()}

    def measure(self, steps: int) -> Answer:
        """A block of steps, from an idle device to an idle device, ns."""
        program, frames = self._made(), compiled_frames()
        program.synchronize()
        begin = time.perf_counter_ns()
        for _ in range(steps):
            program.step()
        program.synchronize()
        spent = time.perf_counter_ns() - begin
        return {"ns": spent, "recompiled": compiled_frames() - frames}

    def layouts(self) -> Answer:
        """The attention that was put in, alone, over layouts of its gradient."""
        if self._program is None or self._program.build.core is None:
            return {"layouts": ""}
        chosen = self._program.build.core
        seen = _attention_inputs(self._workload, self._applied, self._request.size)
        return {"layouts": gates.judge_attention(chosen, seen) if seen else "not called"}

    def trace(self, steps: int = WARM_STEPS) -> Answer:
        """A recording of some steps, and the same steps timed before it."""
        program = self._made()
        self._start(program)
        self._steps(program, WARM_STEPS)
        clean, submit = _clean_steps(program)
        path = Path(self._request.folder) / TRACE
        traced(program.step, program.synchronize, steps, path, program.build.device)
        return {"trace": str(path), "step_ms": clean, "submit_ms": submit}

    def _made(self) -> Program:
        if self._program is None:
            refuse_small_batch(self._workload, self._request.size)
            self._program = make_program(
                self._workload, self._applied, self._request.size, self._request.seed
            )
        return self._program

    def _start(self, program: Program) -> None:
        """Capture the step into a graph where that is asked for, once."""
        if program.build.graph and self._first_s is None:
            program.capture()

    def _steps(self, program: Program, count: int) -> list[float]:
        """Losses of some steps; the end of the very first one is noted."""
        losses = []
        for _ in range(count):
            losses.append(scalar(program.step()))
            if self._first_s is None:
                self._first_s = time.time() - self._began
        return losses

    def _costs(self) -> Answer:
        device = self._made().build.device
        return {
            "memory": asdict(peaks(device)),
            "first_s": self._first_s,
            "compile_s": compile_seconds(),
            "frames": compiled_frames(),
        }


def _clean_steps(program: Program) -> tuple[float, float]:
    """A step among others that follow each other, and the median submission of one alone, ms."""
    submit = []
    for _ in range(CLEAN_STEPS):
        program.synchronize()
        begin = time.perf_counter_ns()
        program.step()
        submit.append(time.perf_counter_ns() - begin)
    program.synchronize()
    begin = time.perf_counter_ns()
    for _ in range(CLEAN_STEPS):
        program.step()
    program.synchronize()
    step = (time.perf_counter_ns() - begin) / CLEAN_STEPS / 1e6
    return step, min(median(submit) / 1e6, step)


def _flops(program: Program) -> float | None:
    """Operations of a step as torch counts them; None where it cannot."""
    try:
        counter = torch_module("utils.flop_counter").FlopCounterMode(display=False)
        with counter:
            gradients(program)
        return float(counter.get_total_flops()) or None
    except (ImportError, RuntimeError, TypeError, ValueError, AttributeError):
        return None


def _attention_inputs(workload: Any, applied: Any, size: int | None) -> list[Any]:  # noqa: ANN401
    """Query, key and value of the first attention of a forward pass without compilation."""
    plain = tuple(pair for pair in applied if pair[0].stage in ("process", "model"))
    least = min(size or workload.batch_size, gates.ATTENTION_BATCH)
    program = make_program(workload, plain, least)
    watched, seen = gates.seen_by(program.build.core)
    workload.attention(program.model, watched)
    with torch().no_grad():
        program.forward(program.first)
    return seen
