"""Which operator makes the first NaN or the first overflow, forward or backward, and where."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any, Literal

from boundby.bench.framework import Tensor, tensors_in, torch, torch_module

PACKAGE = str(Path(__file__).parent.parent)

QUIET = frozenset({"aten.empty", "aten.empty_like", "aten.empty_strided", "aten.new_empty"})
"""Their memory holds what was there before: not a result."""


@dataclass(frozen=True)
class NanOrigin:
    """The first operator whose result is not finite though its inputs were.

    Attributes:
        op: As torch names it: ``aten.log.default``.
        kind: ``nan``, or ``overflow`` for an infinity.
        phase: ``forward`` or ``backward``.
        count: Elements concerned.
        largest: Largest finite magnitude among its inputs; None where it has none.
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
        return f"{self.kind} from {self.op} ({self.phase}){where}: {self.count} elements{size}"


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
    """Run a function until an operator makes a NaN or an infinity of finite inputs.

    Masks with infinities are no finding: an operator is named only where its inputs were finite.
    Compiled functions run uncompiled here; a NaN inside a hand-written kernel shows at its output.

    Args:
        fn: Called as ``fn(*inputs)``.
        inputs: Arguments.
        backward: Whether to run the backward pass of the sum of its outputs.

    Returns:
        The first origin; None where everything stays finite.
    """
    phase: list[Literal["forward", "backward"]] = ["forward"]
    with _watching(phase):
        try:
            outputs = tensors_in(fn(*inputs))
            leaves = [each.float().sum() for each in outputs if each.requires_grad]
            if backward and leaves:
                phase[0] = "backward"
                sum(leaves[1:], leaves[0]).backward()
        except _FoundError as found:
            return found.origin
    return None


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
            inputs = _floating((args, kwargs))
            clean = all(_is_finite(each) for each in inputs)
            result = func(*args, **(kwargs or {}))
            name = str(func)
            if clean and name.rpartition(".")[0] not in QUIET:
                _examine(name, result, inputs, phase[0])
            return result

    return Watch()


def _examine(
    name: str, result: object, inputs: list[Tensor], phase: Literal["forward", "backward"]
) -> None:
    """Raise where a result is not finite; constants that a program writes itself are its own."""
    for each in _floating(result) if inputs else ():
        if _is_finite(each):
            continue
        bad = each.isnan()
        kind: Literal["nan", "overflow"] = "nan" if bool(bad.any()) else "overflow"
        if kind == "overflow" and "fill" in name:
            continue
        count = int((bad if kind == "nan" else each.isinf()).sum())
        largest = max((float(i.abs().max()) for i in inputs if i.numel()), default=None)
        file, line, function = _user_frame() if phase == "forward" else ("", 0, "")
        raise _FoundError(NanOrigin(name, kind, phase, count, largest, file, line, function))


def _floating(value: object) -> list[Tensor]:
    return [each for each in tensors_in(value) if each.is_floating_point() and not each.is_meta]


def _is_finite(tensor: Tensor) -> bool:
    return bool(torch().isfinite(tensor).all())


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
