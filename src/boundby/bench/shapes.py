"""Whether calls differ in shape: with cudnn.benchmark on, each new shape is a new search."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from boundby.bench.framework import tensors_in, torch, torch_module
from boundby.read.recording import Quality

CALLS = 3
CONVOLUTIONS = ("convolution", "cudnn_convolution", "conv_depthwise")


def varying_shapes(call: Callable[[], object]) -> tuple[Quality, ...]:
    """A finding where cudnn.benchmark is on and convolutions see other shapes in each call.

    Looks only where the flag is on, by calls of its own under a dispatch mode, uncompiled.
    """
    if not torch().backends.cudnn.benchmark:
        return ()
    seen: set[tuple[tuple[int, ...], ...]] = set()
    fresh = []
    for _ in range(CALLS):
        shapes = _convolutions(call)
        fresh.append(len(shapes - seen))
        seen |= shapes
    late = sum(fresh[1:])
    if not late:
        return ()
    return (
        Quality(
            "shapes-vary",
            "warning",
            late,
            f"cudnn.benchmark is on and {late} new convolution shapes came after the first call: "
            "each is searched for again",
        ),
    )


def _convolutions(call: Callable[[], object]) -> set[tuple[tuple[int, ...], ...]]:
    seen: set[tuple[tuple[int, ...], ...]] = set()
    base = torch_module("utils._python_dispatch").TorchDispatchMode

    class Watch(base):  # type: ignore[misc, valid-type]
        def __torch_dispatch__(
            self,
            func: Any,  # noqa: ANN401 -- torch's protocol
            types: Any,  # noqa: ANN401
            args: Any = (),  # noqa: ANN401
            kwargs: Any = None,  # noqa: ANN401
        ) -> Any:  # noqa: ANN401
            if any(name in str(func) for name in CONVOLUTIONS):
                seen.add(tuple(tuple(each.shape) for each in tensors_in(args)))
            return func(*args, **(kwargs or {}))

    with Watch():
        call()
    return seen
