"""The peak memory of a training step, predicted without a device: shapes alone, run eagerly.

Exact for what the dispatcher sees. Not seen: scratch memory inside kernels, and what a compiler
fuses away or computes again; both are stated apart.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from math import isqrt
from pathlib import Path
from typing import Any

from boundby.errors import CannotTellError, UsageError
from boundby.memory.batches import largest, moment, moments
from boundby.memory.cache_of import bytes_per_token
from boundby.memory.facts import MIB
from boundby.memory.fakes import (
    Ledger,
    autocast_like_cuda,
    computed_again,
    fake_world,
)
from boundby.memory.pace import Pace
from boundby.memory.recipes import static_buffers
from boundby.memory.recompute import RECOMPUTED, SELECTIVE, Checkpointed, Scale

WORKSPACE = 65 * MIB
"""cuBLAS and cuBLASLt on Hopper, kept after the first matrix product; measured on an H200 with
torch 2.11 (two of 32 MiB and one of 1 MiB). Older cards take about 8 to 17 MiB."""

CONTEXT = 550 * MIB
"""CUDA context and loaded kernels beside the allocator: an H200 with torch 2.11 took 0.55 GiB."""

COMPILED_LOW, COMPILED_HIGH = 0.4, 1.0
"""Activations of a compiled model as a share of eager ones: fusion keeps fewer. The case study on
an H200: 8175 MiB compiled for 17740 eager, which is 0.44 of its activations; 7791 for 8183 with
fused attention."""

AUTOCASTS = (None, "bf16", "fp16")


@dataclass(frozen=True)
class Plan:
    """One training step as the factory describes it.

    Attributes:
        inputs: Arguments of the model.
        loss: From the output of the model to a scalar; the mean of its square by default.
        optimizer: From parameters to an optimizer; AdamW with foreach by default, as on CUDA.
        autocast: ``bf16``, ``fp16`` or None.
    """

    model: Any
    inputs: tuple[Any, ...]
    loss: Callable[[Any], Any] | None = None
    optimizer: Callable[[Any], Any] | None = None
    autocast: str | None = None


@dataclass(frozen=True)
class StepMemory:
    """The peak of one step.

    Attributes:
        peak: Bytes in use at most, workspaces included.
        parts: Bytes of each part at that moment.
        before_update: Bytes in use at most until the optimizer begins, workspaces included.
        course: Bytes in use as each storage is added, workspaces included.
    """

    peak: int
    parts: dict[str, int]
    before_update: int
    course: tuple[int, ...]

    @property
    def is_of_update(self) -> bool:
        """Whether the update of the optimizer sets the peak: samples add little to it."""
        return self.peak > self.before_update


@dataclass(frozen=True)
class Prediction:
    """The answer.

    Attributes:
        fixed, per_sample: Bytes that do not depend on the batch, and bytes of each sample, where
            samples set the peak of forward and backward.
        largest: Largest batch that fits, by device.
        compiled_low, compiled_high: Range of the peak of the same model compiled.
        cache_per_token: Bytes of keys and values that generation keeps for a token; None for a
            model without attention that is known.
        static_inputs: Bytes of the inputs, which each CUDA graph keeps for itself.
    """

    target: str
    batch: int
    capacity: int | None
    step: StepMemory
    fixed: int
    per_sample: float
    parameters: int
    largest: tuple[tuple[str, int], ...]
    checkpointed: tuple[Checkpointed, ...]
    compiled_low: int
    compiled_high: int
    cache_per_token: int | None = None
    static_inputs: int = 0


def predict(
    target: str, batch: int, capacity: int | None = None, pace: Pace | None = None
) -> Prediction:
    """Predict the peak of ``module:factory`` at a batch.

    Args:
        capacity: Bytes of the device; without it, common devices are listed.
        pace: What bounds the step in time, where known: it decides whether recomputing pays.

    Raises:
        UsageError: There is no such factory, or it returns something else.
        CannotTellError: torch is missing, or the model needs values and not only shapes.
    """
    factory = _factory(target)
    measured = _measure(factory, batch)
    step, blocks = measured.step, measured.blocks
    second = _measure(factory, 2 * batch).step
    known = moments(step.course, second.course, batch)
    found = moment(step.before_update, second.before_update, batch)
    if step.is_of_update and known:
        found = max(known, key=lambda each: each.per_sample)
    fixed, per_sample = found
    low, high = compiled_range(step)
    room = None if capacity is None else capacity - CONTEXT - fixed
    scale = Scale(pace, room, fixed, step.peak)
    return Prediction(
        target, batch, capacity, step, fixed, per_sample, measured.parameters,
        largest([found, *known], capacity, CONTEXT),
        tuple(_checkpointed(factory, batch, blocks, scale)),
        low, high, measured.cache_per_token, static_buffers(measured.inputs),
    )  # fmt: skip


def compiled_range(step: StepMemory) -> tuple[int, int]:
    """Peak of the same step compiled, from and to: what is fused keeps fewer activations."""
    activations = step.parts.get("activations", 0)
    rest = step.peak - activations
    return round(rest + activations * COMPILED_LOW), round(rest + activations * COMPILED_HIGH)


def predict_plan(factory: Callable[[int], Any], batch: int, every: int = 0) -> StepMemory:
    """The peak of a factory's step; with ``every`` 1 all blocks are computed again, with k most.

    Raises:
        CannotTellError: The model needs values and not only shapes.
    """
    return _measure(factory, batch, every).step


def _factory(target: str) -> Callable[[int], Any]:
    module_name, _, name = target.partition(":")
    if not all(part.isidentifier() for part in (*module_name.split("."), name)):
        raise UsageError(f"--model {target}: not of the form module:factory", "--model train:build")
    if importlib.util.find_spec("torch") is None:
        raise CannotTellError(
            "torch is not installed, so there is no model to look at", "pip install torch"
        )
    folder = str(Path.cwd())
    if folder not in sys.path:
        sys.path.insert(0, folder)
    try:
        found = getattr(importlib.import_module(module_name), name)
    except (ImportError, AttributeError) as error:
        raise UsageError(
            f"--model {target}: {error}", "name a module that Python can import from here"
        ) from error
    if not callable(found):
        raise UsageError(f"--model {target}: {name} is not callable", "--model train:build")
    factory: Callable[[int], Any] = found
    return factory


def plan_of(made: Any) -> Plan:  # noqa: ANN401 -- what a user's factory returns
    """What a factory may return: a Plan, a dict of its fields, ``(model, inputs)`` or with a loss.

    Raises:
        UsageError: It is none of these.
    """
    if isinstance(made, Plan):
        return made
    try:
        plan = Plan(**made) if isinstance(made, dict) else Plan(*made)
    except TypeError:
        plan = None
    if plan is None or not hasattr(plan.model, "named_modules"):
        raise UsageError(
            "the factory returns neither (model, inputs), (model, inputs, loss) nor a dict of "
            "model, inputs, loss, optimizer, autocast; model is a torch.nn.Module",
            "def build(batch): return model, (torch.randn(batch, 512),)",
        )
    if plan.autocast not in AUTOCASTS:
        raise UsageError(
            f"autocast is {plan.autocast!r}, and neither 'bf16' nor 'fp16' nor None",
            'def build(batch): return {"model": ..., "inputs": ..., "autocast": "bf16"}',
        )
    given: Any = plan.inputs  # a single tensor is forgiven
    inputs = tuple(given) if isinstance(given, (tuple, list)) else (given,)
    return Plan(plan.model, inputs, plan.loss, plan.optimizer, plan.autocast)


@dataclass(frozen=True)
class Measured:
    """What a step on tensors without data tells.

    Attributes:
        parameters, blocks: How many; blocks are those that repeat.
        inputs: Bytes of the arguments of the model.
    """

    step: StepMemory
    parameters: int
    blocks: int
    cache_per_token: int | None
    inputs: int


def _measure(factory: Callable[[int], Any], batch: int, every: int = 0) -> Measured:
    """The second step's peak, and what the model is like."""
    ledger = Ledger()
    at_work = "the factory"
    try:
        with fake_world(ledger):
            plan = plan_of(factory(batch))
            at_work = "a step of the model"
            blocks = _blocks(plan.model)
            for number, block in enumerate(blocks if every else []):
                if every in (1, SELECTIVE) or number % every:
                    computed_again(block, _dtype(plan), keeps_products=every == SELECTIVE)
            step, count = _run(plan, ledger)
            inputs = sum(each.nbytes for each in plan.inputs if hasattr(each, "nbytes"))
            return Measured(step, count, len(blocks), _cache(plan), inputs)
    except (UsageError, CannotTellError):
        raise
    except Exception as error:  # whatever the user's model raises on tensors without data
        raise _told(at_work, error) from error


def _told(at_work: str, error: Exception) -> CannotTellError:
    said = f"{type(error).__name__}: {_first_line(error)}"
    if type(error).__module__.startswith("torch._subclasses"):
        return CannotTellError(
            f"{at_work} cannot run on shapes alone: {said}",
            "values must not be read (item(), boolean masks); record a snapshot instead",
        )
    return CannotTellError(
        f"{at_work} raised {said}",
        "where it runs without boundby, it needs more than shapes: record a snapshot instead",
    )


def _cache(plan: Plan) -> int | None:
    """Bytes of keys and values of a token, in the type that the step computes in."""
    first = next(plan.model.parameters(), None)
    width = 2 if plan.autocast else first.element_size() if first is not None else 4
    return bytes_per_token(plan.model, width)


def _first_line(error: Exception) -> str:
    return next(iter(str(error).splitlines()), "")[:200]


def _run(plan: Plan, ledger: Ledger) -> tuple[StepMemory, int]:
    import torch

    parameters = list(plan.model.parameters())
    make = plan.optimizer or (lambda given: torch.optim.AdamW(given, foreach=True))
    optimizer = make(parameters) if parameters else None
    owners: dict[int | None, str] = {}
    for _ in range(2):  # the first makes the optimizer's state
        ledger.restart()
        owners = _step(plan, optimizer, ledger)
    owners |= _owners(plan, optimizer, ledger)
    parts: Counter[str] = Counter()
    for key, size in ledger.state().items():
        parts[owners.get(key, "temporaries" if ledger.is_passing(key) else "activations")] += size
    parts["workspace"] = WORKSPACE
    count = sum(each.numel() for each in parameters)
    before = ledger.peak if ledger.before_update is None else ledger.before_update
    course = tuple(each + WORKSPACE for each in ledger.course)
    return StepMemory(ledger.peak + WORKSPACE, dict(parts), before + WORKSPACE, course), count


def _step(plan: Plan, optimizer: Any, ledger: Ledger) -> dict[int | None, str]:  # noqa: ANN401 -- torch's
    """Run a step as user code does, its output alive until the end; storages of the gradients."""
    dtype = _dtype(plan)
    if dtype is None:
        out = plan.model(*plan.inputs)
    else:
        with autocast_like_cuda(dtype):
            out = plan.model(*plan.inputs)
    loss = plan.loss(out) if plan.loss else _loss_of(out)
    loss.backward()
    grads = [each.grad for each in plan.model.parameters() if each.grad is not None]
    owners: dict[int | None, str] = {ledger.number_of(grad): "gradients" for grad in grads}
    del grads
    if optimizer is not None:
        ledger.begin_update()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
    return owners


def _loss_of(out: Any) -> Any:  # noqa: ANN401 -- torch's
    if not hasattr(out, "float"):
        raise UsageError(
            f"the model returns {type(out).__name__} and no tensor, and the factory no loss",
            "def build(batch): return model, inputs, lambda out: out.loss",
        )
    return out.float().pow(2).mean()


def _owners(plan: Plan, optimizer: Any, ledger: Ledger) -> dict[int | None, str]:  # noqa: ANN401 -- torch's
    """Part by storage, of all that the step keeps."""
    owners: dict[int | None, str] = {}

    def own(tensor: Any, part: str) -> None:  # noqa: ANN401 -- torch's
        if hasattr(tensor, "untyped_storage"):
            owners[ledger.number_of(tensor)] = part

    for tensor in (*plan.model.parameters(), *plan.model.buffers()):
        own(tensor, "parameters")
    for tensor in plan.inputs:
        own(tensor, "other")
    for state in (optimizer.state if optimizer is not None else {}).values():
        for tensor in state.values():
            own(tensor, "optimizer")
    return owners


def _blocks(model: Any) -> list[Any]:  # noqa: ANN401 -- torch's
    """The modules of the longest list of equal modules: the layers that one would checkpoint."""
    best: list[Any] = []
    for module in model.modules():
        children = list(module.children())
        kinds = Counter(type(child) for child in children)
        if kinds and type(module).__name__ in ("ModuleList", "Sequential", "ModuleDict"):
            kind, count = kinds.most_common(1)[0]
            if count > max(len(best), 1):
                best = [child for child in children if type(child) is kind]
    return best


def _dtype(plan: Plan) -> Any:  # noqa: ANN401 -- a type of torch, or None
    import torch

    return {"bf16": torch.bfloat16, "fp16": torch.float16}.get(plan.autocast or "")


def _checkpointed(
    factory: Callable[[int], Any], batch: int, blocks: int, scale: Scale
) -> list[Checkpointed]:
    """Every block, all but every k-th for k up to the square root of the blocks, and selective."""
    if blocks < 2:  # noqa: PLR2004 -- nothing repeats
        return []
    found = []
    for every in (*range(1, max(isqrt(blocks), 2) + 1), SELECTIVE):
        peak = _measure(factory, batch, every).step.peak
        again = blocks if every == 1 else blocks - -(-blocks // every)
        price = None if every == SELECTIVE else RECOMPUTED * again / blocks
        found.append(Checkpointed(every, blocks, peak, price, scale.advice(peak, price)))
    return found
