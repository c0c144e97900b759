"""The correctness reference of a workload: float64 gradients, float32 errors, loss curves."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from boundby.bench.framework import Tensor, is_out_of_memory, torch
from boundby.bench.runs import plain_attention, precisions
from boundby.bench.tolerance import lowest
from boundby.errors import CannotTellError
from boundby.experiment.build import repeated_blocks
from boundby.experiment.changes import checkpointing
from boundby.experiment.changes.checkpointing import checkpoint_blocks
from boundby.experiment.program import Applied, Program, gradients, make_program, moved

FILE = "reference.pt"
MOST_ELEMENTS = 1 << 16
"""Of a tensor, evenly spread, that are kept and compared: a wrong kernel is wrong all over."""
LEAST_SHARE = 1e-3
"""A gradient far smaller than the others (the bias before a softmax has none at all) is held to
this share of their usual size: its own is rounding alone."""
SAME = 1e-3
"""Losses of one seed that differ by more, relative, are not those of one program."""

RANDOM = 1e-4
"""Losses of one batch and one set of weights differ by more, relative, where the pass itself draws
random numbers that no module shows: then gradients of two kernels cannot be compared."""

CHECKPOINTED: Applied = ((checkpointing.CHANGE, "blocks"),)
Kept = dict[str, Tensor]
TF32, BF16_PARAMETERS = "tf32", "bf16 parameters"


def make_reference(
    workload: Any,  # noqa: ANN401 -- the user's own
    size: int | None,
    folder: Path,
    asked: Sequence[str],
    steps: int,
    seeds: int,
) -> dict[str, Any]:
    """Run the unchanged workload as judge, and keep what it says in a folder.

    A batch at which it does not fit is judged by the same program with its blocks checkpointed.

    Raises:
        CannotTellError: Its loss is not finite, or differs between two runs of one seed.
    """
    try:
        return Judge(workload, size).write(folder, asked, steps, seeds)
    except (RuntimeError, MemoryError) as error:
        if not is_out_of_memory(error) or not repeated_blocks(workload, workload.model()):
            raise
    if torch().cuda.is_initialized():
        torch().cuda.empty_cache()
    return Judge(workload, size, CHECKPOINTED).write(folder, asked, steps, seeds)


@dataclass(frozen=True)
class Judge:
    """The unchanged workload at a batch size, its blocks checkpointed where it must be."""

    workload: Any
    size: int | None
    applied: Applied = ()

    def make(self, seed: int = 0) -> Program:
        """A fresh build of it."""
        return make_program(self.workload, self.applied, self.size, seed)

    def write(self, folder: Path, asked: Sequence[str], steps: int, seeds: int) -> dict[str, Any]:
        """Run it, and keep what it says in a folder."""
        program = self.make()
        first = named(gradients(program))
        notes = [_again(first, named(gradients(self.make())))]
        held = lowest(precisions(program.forward, (program.first,)))
        other = named(gradients(program, shift=1))
        is_random = relative(other["loss"], first["loss"], 0.0) > RANDOM
        exact, where = _exact(program)
        errors = {"float32": _errors(first, exact)}
        for precision in asked:
            found = self._at(precision)
            if found is not None:
                errors[precision] = _errors(found, exact)
        del program
        losses = [curve(self.make(seed), steps) for seed in range(seeds)]
        if not all(torch().isfinite(torch().tensor(each)).all() for each in losses):
            raise CannotTellError(
                "the loss of the unchanged program is not finite",
                "give it a learning rate and data on which it trains",
            )
        where += "; the program checkpointed, since it does not fit" if self.applied else ""
        kept = {
            "exact": {} if is_random else exact,
            "errors": errors,
            "losses": losses,
            "where": where,
            "held": held,
        }
        torch().save(kept, folder / FILE)
        return {"where": where, "losses": losses, "notes": [note for note in notes if note]}

    def _at(self, precision: str) -> Kept | None:
        """One pass at a precision; None where it cannot be."""
        program = self.make()
        if precision == BF16_PARAMETERS:
            return _attempt(program, program.build.device, torch().bfloat16)
        try:
            with _precise(precision, program.build.device)():
                return named(gradients(program))
        except (RuntimeError, NotImplementedError, TypeError, ValueError):
            return None


def named(found: tuple[Tensor, dict[str, Tensor], list[Tensor]]) -> Kept:
    """Loss, outputs and gradients by name, elements evenly spread over each, in float64."""
    loss, grads, outputs = found
    every = {"loss": loss}
    every |= {f"output {at}": each for at, each in enumerate(outputs)}
    every |= {f"grad of {name}": each for name, each in grads.items()}
    return {name: sampled(each) for name, each in every.items() if each.is_floating_point()}


def sampled(tensor: Tensor) -> Tensor:
    """At most so many elements, in float64 on the CPU."""
    flat = tensor.detach().reshape(-1)
    return flat[:: -(-flat.numel() // MOST_ELEMENTS) or 1].double().cpu()


def curve(program: Program, steps: int) -> list[float]:
    """Losses of the first steps."""
    return [scalar(program.step()) for _ in range(steps)]


def scalar(loss: Tensor) -> float:
    """The loss; of a program that gives outputs instead, their root mean square.

    Their mean may be next to nothing (after a norm it is), and then any rounding alters it.
    """
    return (
        float(loss)
        if loss.numel() == 1
        else float(loss.detach().double().norm()) / (loss.numel() ** 0.5)
    )


def usual_size(exact: Kept) -> float:
    """Root mean square of all gradients."""
    grads = [each for name, each in exact.items() if name.startswith("grad of ")]
    count = sum(each.numel() for each in grads)
    return float(sum(float(each.norm()) ** 2 for each in grads) / max(count, 1)) ** 0.5


def relative(found: Tensor, exact: Tensor, least: float) -> float:
    """Distance over size; infinite where shapes or non-finite values differ."""
    if found.shape != exact.shape or not bool(torch().isfinite(found).all()):
        return float("inf")
    size = max(float(exact.norm()), least * exact.numel() ** 0.5)
    distance = float((found - exact).norm())
    return distance / size if size else distance


def least_of(name: str, usual: float) -> float:
    """Size that a tensor is held to at least."""
    return LEAST_SHARE * usual if name.startswith("grad of ") else 0.0


def _errors(found: Kept, exact: Kept) -> dict[str, float]:
    usual = usual_size(exact)
    return {
        name: relative(each, exact[name], least_of(name, usual))
        for name, each in found.items()
        if name in exact
    }


def _again(first: Kept, second: Kept) -> str:
    loss, other = scalar(first["loss"]), scalar(second["loss"])
    if not torch().isfinite(first["loss"]).all():
        raise CannotTellError(
            "the loss of the unchanged program is not finite",
            "give it data and a start on which it trains",
        )
    if abs(loss - other) > SAME * max(abs(loss), 1e-12):
        raise CannotTellError(
            f"the same seed gives two losses, {loss:.6g} and {other:.6g}: nothing can be compared",
            "draw all random numbers from torch, whose seed is set before each run",
        )
    equal = all(torch().equal(first[name], second[name]) for name in first)
    return "" if equal else "two runs of one seed differ in their last bits"


def _exact(program: Program) -> tuple[Kept, str]:
    """Everything in float64, where any way leads there; else the program as it is.

    On the device, there with its blocks checkpointed, on the CPU for the program's own batch.
    """
    build, wide = program.build, torch().float64
    tries = [(build.device, False, "float64"), (build.device, True, "float64, checkpointed")]
    if build.device != "cpu" and build.size <= build.workload.batch_size:
        tries.append(("cpu", False, "float64 on the CPU"))
    for device, checkpointed, where in tries:
        found = _attempt(program, device, wide, checkpointed=checkpointed)
        if found is not None:
            return found, where
    return named(gradients(program)), "the program itself"


def _attempt(
    program: Program,
    device: str,
    dtype: Any,  # noqa: ANN401 -- a torch.dtype
    *,
    checkpointed: bool = False,
) -> Kept | None:
    """One pass of a copy in an element type; None where it cannot be."""
    build = program.build
    if build.device == "cuda":
        torch().cuda.empty_cache()
    try:
        model = copy.deepcopy(build.model).to(device=device, dtype=dtype)
        if checkpointed:
            checkpoint_blocks(build.workload, model, "blocks")
        own = Program.__new__(Program)
        own.__dict__.update(program.__dict__)
        own.use(model, moved(program.first, device, dtype))
        with plain_attention():
            return named(gradients(own))
    except (RuntimeError, NotImplementedError, TypeError, ValueError, MemoryError):
        return None


def _precise(precision: str, device: str) -> Callable[[], AbstractContextManager[Any]]:
    if precision == TF32:
        return _Tf32
    dtype = getattr(torch(), precision, None)
    return nullcontext if dtype is None else lambda: torch().autocast(device, dtype)


class _Tf32:
    """TF32 products inside the block."""

    def __enter__(self) -> None:
        self._before = torch().get_float32_matmul_precision()
        torch().set_float32_matmul_precision("high")

    def __exit__(self, *_: object) -> None:
        torch().set_float32_matmul_precision(self._before)
