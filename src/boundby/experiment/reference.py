"""The correctness reference of a workload: float64 gradients, float32 errors, loss curves."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from boundby.bench.framework import Tensor, is_out_of_memory, tensors_in, torch
from boundby.bench.runs import cast, plain_attention, precisions, takes_gradient
from boundby.bench.tolerance import lowest
from boundby.errors import CannotTellError
from boundby.experiment.build import repeated_blocks
from boundby.experiment.changes import checkpointing
from boundby.experiment.changes.checkpointing import checkpoint_blocks
from boundby.experiment.program import Applied, Pass, Program, gradients, make_program, moved

FILE = "reference.pt"
LOSS = "loss"
"""Name of what ``loss`` gave; numbered where those are several tensors."""
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
        is_random = any(
            name not in other or relative(other[name], each, 0.0) > RANDOM
            for name, each in given(first)
        )
        exact, where = _exact(program)
        errors = {"float32": _errors(first, exact)}
        for precision in asked:
            found = self._at(precision)
            if found is not None:
                errors[precision] = _errors(found, exact)
        drawn = program.drawn
        del program
        losses = [curve(self.make(seed), steps) for seed in range(seeds)]
        if not all(math.isfinite(loss) for each in losses for loss in each):
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
            "drawn": drawn,
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


def named(found: Pass) -> Kept:
    """Loss, outputs and gradients by name, elements evenly spread over each.

    Of what ``loss`` gave all tensors; of what the model gave besides those that take gradients,
    since whole numbers in between (which expert, which code) show in what follows from them.
    """
    results, grads, outputs = found
    every = {LOSS if len(results) == 1 else f"{LOSS} {at}": each for at, each in enumerate(results)}
    beside = {f"output {at}": each for at, each in enumerate(outputs)}
    beside |= {f"grad of {name}": each for name, each in grads.items()}
    every |= {name: each for name, each in beside.items() if takes_gradient(each)}
    return {name: sampled(each) for name, each in every.items()}


def given(kept: Kept) -> list[tuple[str, Tensor]]:
    """What ``loss`` gave, of all that was kept."""
    return [(name, each) for name, each in kept.items() if name.partition(" ")[0] == LOSS]


def sampled(tensor: Tensor) -> Tensor:
    """At most so many elements, on the CPU: in float64, whole numbers as they are."""
    dense = tensor.detach().to_dense() if tensor.is_sparse else tensor.detach()
    flat = as_real(dense).reshape(-1)
    return as_exact(flat[:: -(-flat.numel() // MOST_ELEMENTS) or 1]).cpu()


def as_exact(tensor: Tensor) -> Tensor:
    """In float64; whole numbers and booleans in int64."""
    return tensor.double() if tensor.is_floating_point() else tensor.long()


def as_real(tensor: Tensor) -> Tensor:
    """Complex numbers as pairs of real ones."""
    return torch().view_as_real(tensor.resolve_conj()) if tensor.is_complex() else tensor


def curve(program: Program, steps: int) -> list[float]:
    """Losses of the first steps."""
    return [scalar(program.step()) for _ in range(steps)]


def scalar(results: Any) -> float:  # noqa: ANN401 -- any nested value
    """The loss; of a program that gives outputs instead, their root mean square.

    Their mean may be next to nothing (after a norm it is), and then any rounding alters it. Zero
    where there are no elements.
    """
    parts = [as_real(each.detach()) for each in tensors_in(results)]
    if len(parts) == 1 and parts[0].numel() == 1:
        return float(parts[0])
    return root_mean_square(parts)


def root_mean_square(parts: Sequence[Tensor]) -> float:
    """Of all elements; the size of the largest is taken out before any is squared."""
    count = sum(each.numel() for each in parts)
    sizes = [_size(each.double()) * (each.numel() / count) ** 0.5 for each in parts if count]
    return math.hypot(*sizes)


def _size(tensor: Tensor) -> float:
    """Root mean square of one tensor in float64."""
    unit = _unit(tensor)
    return unit * (float((tensor / unit).norm()) / max(tensor.numel(), 1) ** 0.5)


def _unit(tensor: Tensor) -> float:
    """A power of two near its largest element, so that squares neither overflow nor vanish."""
    most = float(tensor.abs().max()) if tensor.numel() else 0.0
    return 2.0 ** (math.frexp(most)[1] - 1) if most and math.isfinite(most) else 1.0


def usual_size(exact: Kept) -> float:
    """Root mean square of all gradients."""
    return root_mean_square([each for name, each in exact.items() if name.startswith("grad of ")])


def relative(found: Tensor, exact: Tensor, least: float) -> float:
    """Distance over size; infinite where shapes or non-finite values differ.

    Of whole numbers the share that differs: how far an identifier lies from another says nothing.
    """
    if found.shape != exact.shape or not bool(torch().isfinite(found).all()):
        return float("inf")
    if is_whole(exact):
        return float((found != exact).double().mean()) if exact.numel() else 0.0
    unit = _unit(exact)
    found, exact = found / unit, exact / unit
    size = max(float(exact.norm()), least / unit * exact.numel() ** 0.5)
    distance = float((found - exact).norm())
    return distance / size if size else distance * unit


def is_whole(tensor: Tensor) -> bool:
    """Whether a tensor that was kept holds whole numbers."""
    return not tensor.is_floating_point()


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
    for name, each in given(first):
        if not torch().isfinite(each).all():
            raise CannotTellError(
                "the loss of the unchanged program is not finite",
                "give it data and a start on which it trains",
            )
        loss, other = scalar(each), scalar(second.get(name))
        if abs(loss - other) > SAME * max(abs(loss), 1e-12):
            raise CannotTellError(
                f"the same seed gives two losses, {loss:.6g} and {other:.6g}: "
                "nothing can be compared",
                "draw all random numbers from torch, whose seed is set before each run",
            )
    equal = all(torch().equal(each, second.get(name, each[:0])) for name, each in first.items())
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
        model = cast(build.model, dtype, device)
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
