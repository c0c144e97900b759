"""An unchanged script, changed from outside: hooks where it makes its model, loader and steps.

Requests are answered inside the hook that follows each step of the optimizer: between two of
them the script waits there, so that it can be measured in turns with another process.
"""

from __future__ import annotations

import runpy
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from boundby.bench.caliber import Caliber, gather
from boundby.bench.framework import torch, torch_module
from boundby.capture.compiled import compiled_frames
from boundby.errors import CannotTellError
from boundby.experiment import gates
from boundby.experiment.changes import BY_ID
from boundby.experiment.generators import Drawn, States, between, states
from boundby.experiment.machine import compile_seconds, peaks
from boundby.experiment.outside import Outside
from boundby.experiment.reference import FILE, Kept, sampled
from boundby.experiment.values import Facts
from boundby.experiment.wire import Answer, Request, write_answer
from boundby.experiment.workload import (
    capability,
    device_name,
    forms_of,
    memory_of,
    processors,
    thread_limit,
)

MOST_LOSSES = 1000
"""Kept on their device: more than any loss curve asks for."""
WARM_STEPS = 3
CURVES = ("keep", "gate")
"""Requests for the first steps of the script; others count from where they came."""
NO_OPTIMIZER = (
    "a script must use a torch optimizer; for anything else write a class of ten lines: "
    "boundby explain workload"
)
LONGER = "let the script make more steps: more epochs, or more data"
Commands = Iterator[tuple[int, Answer]]


class ScriptSession:
    """What is asked of a script, answered after each of its steps."""

    def __init__(self, request: Request, commands: Commands, began: float) -> None:
        self._request, self._commands, self._began = request, commands, began
        self._applied = [(BY_ID[name], value) for name, value in request.changes]
        self.outside = Outside()
        self.is_stopped = False
        self._losses: list[Any] = []
        self._first: Kept = {}
        self._drawn: Drawn = {}
        self._began_with: States = {}
        self._steps = 0
        self._first_s: float | None = None
        self._open: tuple[int, Answer] | None = None
        self._since = (0, 0, 0)

    def install(self) -> None:
        """Put changes and hooks in place before the script runs."""
        shift_seeds(self._request.seed)
        for change, value in self._applied:
            if change.outside is not None:
                change.outside(self.outside, value)
        self.outside.install()
        if self._request.observed:
            return
        self._watch_losses()
        self.outside.when_optimizer(self._begun)
        hooks = torch_module("optim.optimizer")
        hooks.register_optimizer_step_pre_hook(lambda *_: self._before())
        hooks.register_optimizer_step_post_hook(lambda *_: self._after())

    def _begun(self, _: object) -> None:
        """The first optimizer is made: random numbers drawn from here on are those of steps."""
        self._began_with = self._began_with or states()

    def _watch_losses(self) -> None:
        autograd = torch().autograd
        backward = autograd.backward

        def watched(tensors: Any, *arguments: Any, **keywords: Any) -> Any:  # noqa: ANN401
            is_loss = getattr(tensors, "numel", lambda: 0)() == 1
            if is_loss and len(self._losses) < MOST_LOSSES:
                self._losses.append(tensors.detach())
            return backward(tensors, *arguments, **keywords)

        autograd.backward = watched

    def _before(self) -> None:
        if not self._first and self.outside.model is not None:
            self._first = {
                f"grad of {name}": sampled(each.grad)
                for name, each in self.outside.model.named_parameters()
                if each.grad is not None
            }
            self._drawn = between(self._began_with, states())

    def _after(self) -> None:
        self._steps += 1
        self.outside.stepped(self._steps)
        if self.outside.model is None:
            raise CannotTellError(
                "no module of the script holds the parameters of its first optimizer",
                "write a class of ten lines instead: boundby explain workload",
            )
        if self._first_s is None:
            synchronize()
            self._first_s = time.time() - self._began
        while self._is_free():
            self._open = next(self._commands, None)
            if self._open is None or self._open[1]["op"] == "stop":
                self.is_stopped = True
                raise SystemExit(0)
            self._begin()

    def _is_free(self) -> bool:
        """Whether the script has made the steps that the open request asked for."""
        if self._open is None:
            return True
        number, command = self._open
        found = getattr(self, f"_{command['op']}")(command)
        if found is None:
            return False
        write_answer(Path(self._request.folder), number, found)
        self._open = None
        return True

    def _begin(self) -> None:
        synchronize()
        self._since = (self._steps, time.perf_counter_ns(), compiled_frames())

    def _facts(self, _: Answer) -> Answer | None:
        device = str(next(self.outside.model.parameters()).device.type)
        forms, form = forms_of(self.outside.optimizer)
        modules = {type(each).__name__ for each in self.outside.model.modules()}
        known = Caliber("step", "throughput", device="" if device == "cuda" else "cpu")
        caliber = asdict(gather(known, (), self._request.target))
        dtypes = {str(p.dtype).removeprefix("torch.") for p in self.outside.model.parameters()}
        return asdict(
            Facts(
                kind="script",
                device=device,
                device_name=device_name(device),
                capability=capability(device),
                memory_bytes=memory_of(device),
                optimizer=type(self.outside.optimizer).__name__,
                optimizer_forms=forms,
                optimizer_form=form,
                dtypes=tuple(sorted(dtypes)),
                modules=tuple(sorted(modules)),
                offers=("loader",) if self.outside.has_loader else (),
                loader_workers=self.outside.loader_workers,
                threads=torch().get_num_threads(),
                processors=processors(),
                thread_limit=thread_limit(),
                caliber=caliber,
            )
        )

    def unanswered(self) -> Answer:
        """What is missing where the script ended by itself, as an answer to what was asked."""
        if self._steps == 0:
            message, hint = "no torch optimizer made a step in the script", NO_OPTIMIZER
        else:
            steps = self._open[1].get("steps", WARM_STEPS) if self._open else 0
            is_curve = self._open is not None and self._open[1]["op"] in CURVES
            needed = steps if is_curve else self._since[0] + steps
            made = f"the script ended after {plural(self._steps)}"
            message, hint = (
                f"{made}, and {max(needed, self._steps + 1)} are needed at least",
                LONGER,
            )
        return {"failure": "ended", "message": message, "hint": hint}

    def _losses_of(self, command: Answer) -> list[float] | None:
        """Losses of the first steps; None before there are enough."""
        if self._steps < command["steps"]:
            return None
        return [float(each) for each in self._losses[: command["steps"]]]

    def _keep(self, command: Answer) -> Answer | None:
        losses = self._losses_of(command)
        if losses is None:
            return None
        if not self._first or not losses:
            raise CannotTellError("the script has no loss or no gradients that can be watched")
        kept = {"exact": self._first, "losses": [losses], "where": "the script itself"}
        kept["drawn"] = self._drawn
        torch().save(kept, Path(self._request.folder) / FILE)
        return {"losses": losses, **self._costs()}

    def _gate(self, command: Answer) -> Answer | None:
        losses = self._losses_of(command)
        if losses is None:
            return None
        kept = gates.load_reference(command["reference"])
        kept["losses"] = [*kept["losses"], *command["others"]]
        fields = gates.judge_script(self._first, kept, command["precision"])
        fields = gates.where_drawn_alike(fields, self._drawn, kept["drawn"])
        loss = gates.judge_losses(losses, kept)
        notes = [gates.NO_FLOAT64] if "tensors" in fields else [gates.APART]
        gate = gates.whole(fields, loss, "", notes)
        return {"gate": gate, "losses": losses, **self._costs()}

    def _measure(self, command: Answer) -> Answer | None:
        since, begin, frames = self._since
        if self._steps - since < command["steps"]:
            return None
        synchronize()
        spent = time.perf_counter_ns() - begin
        return {"ns": spent, "recompiled": compiled_frames() - frames}

    def _warm(self, command: Answer) -> Answer | None:
        steps = command.get("steps", WARM_STEPS)
        found = self._measure({"steps": steps})
        if found is None:
            return None
        step = found["ns"] / steps
        return {"step_ns": step, "samples": None, **self._costs()}

    def _layouts(self, _: Answer) -> Answer | None:
        return {"layouts": ""}

    def _costs(self) -> Answer:
        device = str(next(self.outside.model.parameters()).device.type)
        return {
            "memory": asdict(peaks(device)),
            "first_s": self._first_s,
            "compile_s": compile_seconds(),
            "frames": compiled_frames(),
        }


def plural(steps: int) -> str:
    """``1 step``, ``3 steps``."""
    return f"{steps} step{'' if steps == 1 else 's'}"


def synchronize() -> None:
    """Wait for the device, if the script uses one."""
    if torch().cuda.is_available() and torch().cuda.is_initialized():
        torch().cuda.synchronize()


def shift_seeds(by: int) -> None:
    """Make every seed that the script sets another one, and set one before it starts."""
    torch().manual_seed(by)
    if by == 0:
        return
    own = torch().manual_seed
    torch().manual_seed = lambda seed: own(int(seed) + by)


def run_script(request: Request, commands: Commands, began: float) -> Answer | None:
    """Run a script to its end, or to the last request.

    Returns:
        What is missing, where it ended by itself; None where nothing is, or it was told to stop.
    """
    session = ScriptSession(request, commands, began)
    session.install()
    path = Path(request.target)
    sys.argv = [str(path), *request.arguments]
    sys.path.insert(0, str(path.resolve().parent))
    try:
        runpy.run_path(str(path), run_name="__main__")
    except SystemExit as error:
        if session.is_stopped:
            return None
        if error.code not in (None, 0):
            raise
    return None if request.observed else session.unanswered()
