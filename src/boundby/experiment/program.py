"""A built workload that can make steps: forward, backward, update, in one call."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import replace
from itertools import chain, repeat
from typing import Any

from boundby.bench.framework import Tensor, map_tensors, tensors_in, torch
from boundby.bench.runs import kind_of_width
from boundby.experiment.build import Build, Entry
from boundby.experiment.change import STAGES, Change
from boundby.experiment.feed import feed
from boundby.experiment.generators import between, states
from boundby.experiment.given import optimizer_of, results_of
from boundby.experiment.workload import start_build

GRAPH_WARM_UP = 3
"""Steps on a side stream before capture, as torch asks for."""
Applied = tuple[tuple[Change, str], ...]


class Program:
    """A workload with its changes, ready to run.

    Attributes:
        entry: The model as the loss calls it.
        model, optimizer: The user's.
        first: The first batch, which gradients are compared on.
        drawn: Random numbers that were drawn for it.
    """

    def __init__(self, build: Build, seed: int) -> None:
        self.build = build
        self.model = build.model
        self.entry = Entry(build)
        self.masters = build.masters
        self.optimizer = _optimizer(build)
        self.seed = seed
        self.batches = feed(build, seed)
        began = states()
        self.first = next(self.batches)
        self.drawn = between(began, states())
        self.batches = chain((self.first,), self.batches)
        self._scaler = torch().amp.GradScaler(build.device) if build.scaler else None
        self._log = getattr(build.workload, "log", None)
        self._steps = 0
        self._graph: Any = None
        self._replayed: Tensor = None

    def step(self) -> Any:  # noqa: ANN401 -- any nested value
        """Make one step and give its loss, detached; of inference, what ``loss`` gives."""
        self._steps += 1
        if self.build.tick is not None:
            self.build.tick(self._steps)
        if self._graph is not None:
            self._graph.replay()
            loss = self._replayed
        else:
            loss = self._step()
        if self._log is not None and self._steps % self.build.log_every == 0:
            self._log(loss)
        return loss

    def forward(self, batch: Any) -> Any:  # noqa: ANN401 -- any nested value
        """What ``loss`` gives for a batch, with its graph; one forward pass."""
        if self.build.compiled:
            torch().compiler.cudagraph_mark_step_begin()
        return self.build.workload.loss(self.entry, batch)

    def use(self, model: Any, batch: Any) -> None:  # noqa: ANN401 -- a module, any nested value
        """Run another model, on one batch, from now on."""
        self.model, self.first, self.batches = model, batch, repeat(batch)
        self.entry = Entry(replace(self.build, model=model))

    def synchronize(self) -> None:
        """Wait for the device."""
        if self.build.device == "cuda":
            torch().cuda.synchronize()

    def capture(self) -> None:
        """Make the whole step one CUDA graph, and put model and optimizer back to their start."""
        cuda = torch().cuda
        kept = [each.detach().cpu().clone() for each in self._state()]
        side = cuda.Stream()
        side.wait_stream(cuda.current_stream())
        with cuda.stream(side):
            for _ in range(GRAPH_WARM_UP):
                self._step()
        cuda.current_stream().wait_stream(side)
        graph = cuda.CUDAGraph()
        with cuda.graph(graph):
            self._replayed = self._step()
        self._graph = graph
        self._put_back(kept)

    def _step(self) -> Any:  # noqa: ANN401 -- any nested value
        if self.optimizer is None:
            with getattr(torch(), self.build.inference)():
                return self.forward(next(self.batches))
        loss = self.forward(next(self.batches))
        if self._scaler is not None:
            self._scaler.scale(loss).backward()
            self._scaler.step(self.optimizer)
            self._scaler.update()
        else:
            loss.backward()
            self._update()
        (self.model if self.masters else self.optimizer).zero_grad(set_to_none=True)
        return loss.detach()

    def _update(self) -> None:
        if not self.masters:
            self.optimizer.step()
            return
        parameters = list(self.model.parameters())
        pairs = zip(self.masters, parameters, strict=True)
        held = [(master, own.grad) for master, own in pairs if own.grad is not None]
        for master, _ in held:
            master.grad = torch().empty_like(master) if master.grad is None else master.grad
        with torch().no_grad():
            torch()._foreach_copy_([each.grad for each, _ in held], [grad for _, grad in held])
        self.optimizer.step()
        with torch().no_grad():
            torch()._foreach_copy_(parameters, self.masters)

    def _state(self) -> Iterator[Tensor]:
        yield from self.model.parameters()
        yield from self.model.buffers()
        yield from self.masters

    def _put_back(self, kept: list[Tensor]) -> None:
        with torch().no_grad():
            for each, before in zip(self._state(), kept, strict=True):
                each.copy_(before)
            state = self.optimizer.state.values() if self.optimizer is not None else ()
            for each in tensors_in([list(held.values()) for held in state]):
                each.zero_()


def make_program(
    workload: Any,  # noqa: ANN401 -- the user's own
    applied: Applied,
    size: int | None,
    seed: int = 0,
) -> Program:
    """Build a workload with some changes, from a seed, up to its first step."""
    build = start_build(workload, size, seed)
    for stage in STAGES:
        for change, value in applied:
            if change.stage == stage and change.apply is not None:
                change.apply(build, value)
    torch().manual_seed(seed)
    return Program(build, seed)


def _optimizer(build: Build) -> Any:  # noqa: ANN401 -- torch's; None for inference
    if not hasattr(build.workload, "optimizer"):
        return None
    parameters = build.masters or list(build.model.parameters())
    return optimizer_of(build.workload, parameters, **build.options)


Pass = tuple[list[Tensor], dict[str, Tensor], list[Tensor]]
"""What ``loss`` gave, gradients by parameter, and outputs of the model."""


def gradients(program: Program, shift: int = 0) -> Pass:
    """What a pass over the first batch gives.

    Nothing is updated, and steps afterwards draw the random numbers that they would have drawn
    without it. Dropout modules are off meanwhile: their masks differ between kernels that are both
    right.

    Args:
        program: Whose.
        shift: Added to the seed of whatever else is random in the pass.

    Raises:
        UsageError: ``loss`` gave what cannot be compared, or trained with.
    """
    program.entry.keep = True
    cards = [torch().cuda.current_device()] if program.build.device == "cuda" else []
    with torch().random.fork_rng(devices=cards), _without_dropout(program.model):
        torch().manual_seed(program.seed + shift)
        trains = program.optimizer is not None
        with nullcontext() if trains else torch().no_grad():
            results = results_of(program.forward(program.first), trains=trains)
        if trains:
            results[0].backward()
    found = {
        name.replace("_orig_mod.", ""): each.grad.detach()
        for name, each in program.model.named_parameters()
        if each.grad is not None
    }
    program.model.zero_grad(set_to_none=True)
    outputs = [each.detach() for each in tensors_in(program.entry.outputs)]
    program.entry.keep, program.entry.outputs = False, None
    return [each.detach() for each in results], found, outputs


class _without_dropout:  # noqa: N801 -- used as a verb
    """Dropout modules with a probability of zero inside the block."""

    def __init__(self, model: Any) -> None:  # noqa: ANN401 -- a module
        kinds = torch().nn.modules.dropout._DropoutNd  # noqa: SLF001 -- the base of them all
        self._held = [(each, each.p) for each in model.modules() if isinstance(each, kinds)]

    def __enter__(self) -> None:
        for each, _ in self._held:
            each.p = 0.0

    def __exit__(self, *_: object) -> None:
        for each, before in self._held:
            each.p = before


def moved(batch: Any, device: str, dtype: Any = None) -> Any:  # noqa: ANN401 -- any nested value
    """A batch on a device, floating tensors in an element type, complex ones in one as wide."""

    def move(tensor: Tensor) -> Tensor:
        kind = tensor.dtype if dtype is None else kind_of_width(tensor, dtype)
        return tensor.to(device=device, dtype=kind)

    return map_tensors(move, batch)
