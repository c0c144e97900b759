"""Which operator makes the first NaN or the first overflow, forward or backward, and where."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any, Literal

from boundby.bench.framework import Tensor, tensors_in, torch, torch_module
from boundby.bench.targets import refuse_lazy

PACKAGE = str(Path(__file__).parent.parent)

QUIET = frozenset(
    {
        "aten.empty",
        "aten.empty_like",
        "aten.empty_permuted",
        "aten.empty_strided",
        "aten.new_empty",
        "aten.new_empty_strided",
        "aten.resize_",
    }
)
"""Their memory holds what was there before: not a result."""


@dataclass(frozen=True)
class NanOrigin:
    """The first operator that makes a NaN without one among its inputs, or an infinity likewise.

    Attributes:
        op: As torch names it: ``aten.log.default``.
        kind: ``nan``, or ``overflow`` for an infinity.
        phase: ``forward`` or ``backward``.
        count: Elements concerned.
        largest: Largest finite magnitude among its inputs, as they were before an operator in
            place; None where it has none.
        file, line, function: In the user's code; empty in the backward pass, which runs without it.
    """

    op: str
    kind: Literal["nan", "overflow"]
    phase: Literal["forward", "backward"]
    count: int
    largest: float | None
    file: str = ""
    line: int = 0
    function: str = ""

    def __str__(self) -> str:
        where = f" at {self.file}:{self.line} {self.function}" if self.file else ""
        size = "" if self.largest is None else f", largest input {self.largest:.3g}"
        elements = "1 element" if self.count == 1 else f"{self.count} elements"
        return f"{self.kind} from {self.op} ({self.phase}){where}: {elements}{size}"


class _FoundError(Exception):
    """Ends the run at the first finding."""

    def __init__(self, origin: NanOrigin) -> None:
        super().__init__()
        self.origin = origin


def find_nan(
    fn: Callable[..., object],
    *inputs: Any,  # noqa: ANN401 -- the user's own
    backward: bool = True,
) -> NanOrigin | None:
    """Run a function until an operator makes a NaN or an infinity that was not there before.

    A NaN is one where none of the operator's inputs holds one: the softmax of a row of nothing
    but -inf is found. An infinity is one where the inputs are finite, and no number of the call
    is infinite: masks are no finding. Compiled functions run uncompiled here; a NaN inside a
    hand-written kernel shows at its output.

    Args:
        fn: Called as ``fn(*inputs)``.
        inputs: Arguments.
        backward: Whether to run the backward pass of the sum of its outputs. Gradients that
            parameters hold are left as they are.

    Returns:
        The first origin; None where nothing new is made.

    Raises:
        UsageError: What cannot be called.
    """
    refuse_lazy(fn, "find_nan")
    phase: list[Literal["forward", "backward"]] = ["forward"]
    with _watching(phase):
        try:
            outputs = tensors_in(fn(*inputs))
            scalars = [_total(each) for each in outputs if each.requires_grad]
            leaves = _leaves(scalars)
            if backward and leaves:
                phase[0] = "backward"
                torch().autograd.grad(scalars, leaves, allow_unused=True)
        except _FoundError as found:
            return found.origin
    return None


def _total(output: Tensor) -> Tensor:
    """A number to go backward from."""
    return output.abs().sum() if output.is_complex() else output.float().sum()


def _leaves(outputs: list[Tensor]) -> list[Tensor]:
    """Tensors at which the graph behind some outputs ends, each once."""
    todo = [each.grad_fn for each in outputs if each.grad_fn is not None]
    seen: set[Any] = set()
    found: list[Tensor] = []
    while todo:
        node = todo.pop()
        if node in seen:
            continue
        seen.add(node)
        if hasattr(node, "variable"):
            found.append(node.variable)
        todo += [each for each, _ in node.next_functions if each is not None]
    return found


@dataclass(frozen=True)
class _Values:
    """What the floating inputs of an operator hold before it runs.

    Attributes:
        largest: Largest finite magnitude; None where there is none.
    """

    has_nan: bool
    has_inf: bool
    largest: float | None


def _values(tensors: list[Tensor]) -> _Values:
    nan = inf = False
    sizes = []
    for each in tensors:
        if not each.numel():
            continue
        size = each.detach().abs()
        finite = torch().isfinite(size)
        if not bool(finite.all()):
            nan |= bool(size.isnan().any())
            inf |= bool(size.isinf().any())
            size = size[finite]
        if size.numel():
            sizes.append(float(size.max()))
    return _Values(nan, inf, max(sizes, default=None))


def _watching(phase: list[Literal["forward", "backward"]]) -> Any:  # noqa: ANN401 -- a mode
    mode = torch_module("utils._python_dispatch").TorchDispatchMode

    class Watch(mode):  # type: ignore[misc, valid-type]
        def __torch_dispatch__(
            self,
            func: Any,  # noqa: ANN401 -- torch's protocol
            types: Any,  # noqa: ANN401
            args: Any = (),  # noqa: ANN401
            kwargs: Any = None,  # noqa: ANN401
        ) -> Any:  # noqa: ANN401
            given = (args, kwargs)
            name = str(func)
            is_source = name.rpartition(".")[0] in QUIET or not tensors_in(given)
            before = None if is_source else _values(_floating(given))
            result = func(*args, **(kwargs or {}))
            if before is not None and not _writes_special(given):
                _examine(name, result, before, phase[0])
            return result

    return Watch()


def _writes_special(given: object) -> bool:
    """Whether a number of the call is itself NaN or infinite: what a program writes is its own."""
    leaves = torch_module("utils._pytree").tree_leaves(given)
    return any(isinstance(each, float) and not math.isfinite(each) for each in leaves)


def _examine(
    name: str, result: object, before: _Values, phase: Literal["forward", "backward"]
) -> None:
    """Raise where a result holds a NaN or an infinity that its inputs do not explain."""
    for each in _floating(result):
        bad, kind = each.isnan(), "nan"
        if before.has_nan or not bool(bad.any()):
            bad, kind = each.isinf(), "overflow"
            if before.has_nan or before.has_inf or not bool(bad.any()):
                continue
        file, line, function = _user_frame() if phase == "forward" else ("", 0, "")
        count = int(bad.sum())
        raise _FoundError(
            NanOrigin(name, kind, phase, count, before.largest, file, line, function)  # type: ignore[arg-type]
        )


def _floating(value: object) -> list[Tensor]:
    """Tensors of numbers that can be NaN and that torch can look at: dense, wider than a byte."""
    return [
        each
        for each in tensors_in(value)
        if (each.is_floating_point() or each.is_complex())
        and not each.is_meta
        and each.layout == torch().strided
        and each.element_size() > 1
    ]


def _user_frame() -> tuple[str, int, str]:
    """Innermost frame outside torch and boundby."""
    torch_folder = str(Path(torch().__file__).parent)
    frame: FrameType | None = sys._getframe(1)  # noqa: SLF001 -- documented, and there is no other
    while frame is not None:
        file = frame.f_code.co_filename
        if not file.startswith((torch_folder, PACKAGE, "<")):
            return file, frame.f_lineno, frame.f_code.co_name
        frame = frame.f_back
    return "", 0, ""
