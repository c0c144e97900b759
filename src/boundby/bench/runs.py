"""One run of a function forward and backward, with its own copies of everything it may change."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any

from boundby.bench.framework import Tensor, map_tensors, tensors_in, torch, torch_module
from boundby.errors import CannotTellError

IN_PLACE = "leaf Variable that requires grad is being used in an in-place operation"
"""How autograd refuses it."""
COMPLEX = {"float32": "complex64", "float64": "complex128"}
PARTS = {made: part for part, made in COMPLEX.items()}
"""The complex type of a floating one, and the type of its parts."""


@dataclass(frozen=True)
class Outcome:
    """What a run gave, by name: ``output 0``, ``grad of input 1``, ``grad of weight``."""

    outputs: dict[str, Tensor]
    grads: dict[str, Tensor]


Weights = Callable[[int, Tensor], Tensor | None]
"""Gradient for the output of a number; None for an output that takes none."""


def run(
    fn: Callable[..., object], inputs: Sequence[Any], weights: Weights | None, seed: int
) -> Outcome:
    """Run on copies of the inputs, with the random state set.

    Args:
        fn: A function or module.
        inputs: Tensors keep their strides.
        weights: Gradients of the outputs; None for a forward pass alone.
        seed: For dropout and the like.
    """
    own = [_copied(each, needs_grad=weights is not None) for each in inputs]
    torch().manual_seed(seed)
    with nullcontext() if weights is not None else torch().no_grad():
        outputs = tensors_in(_called(fn, own))
    named = {f"output {at}": each.detach() for at, each in enumerate(outputs)}
    if weights is None:
        return Outcome(named, {})
    pairs = [(each, weights(at, each)) for at, each in enumerate(outputs) if each.requires_grad]
    pairs = [(each, weight) for each, weight in pairs if weight is not None]
    return Outcome(named, _backward(fn, own, pairs))


def _called(fn: Callable[..., object], own: Sequence[Any]) -> object:
    try:
        return fn(*own)
    except RuntimeError as error:
        if IN_PLACE not in str(error):
            raise
        raise CannotTellError(
            "an input that takes a gradient is changed in place",
            "--no-grads compares outputs alone; or let the function work on a copy",
        ) from error


def _backward(
    fn: Callable[..., object], own: list[Any], pairs: list[tuple[Tensor, Tensor | None]]
) -> dict[str, Tensor]:
    leaves = {f"grad of input {name}": each for name, each in _named_leaves(own)}
    if isinstance(fn, torch().nn.Module):
        leaves |= {f"grad of {name}": each for name, each in fn.named_parameters()}
    if not pairs or not leaves:
        return {}
    found = torch().autograd.grad(
        [each for each, _ in pairs],
        list(leaves.values()),
        [weight for _, weight in pairs],
        allow_unused=True,
    )
    return {name: each for name, each in zip(leaves, found, strict=True) if each is not None}


def _named_leaves(own: list[Any]) -> Iterator[tuple[str, Tensor]]:
    """Tensors that take gradients: ``0`` for an input, ``0.2`` for the third inside of one."""
    for at, value in enumerate(own):
        is_plain = isinstance(value, torch().Tensor)
        for inner, each in enumerate(tensors_in(value)):
            if each.requires_grad:
                yield f"{at}" if is_plain else f"{at}.{inner}", each


def _copied(value: Any, *, needs_grad: bool) -> Any:  # noqa: ANN401 -- any argument
    """The argument with its tensors copied, strides kept; those that can take gradients."""

    def copied(tensor: Tensor) -> Tensor:
        same = torch().empty_strided(
            tensor.shape, tensor.stride(), dtype=tensor.dtype, device=tensor.device
        )
        same.copy_(tensor.detach())
        return same.requires_grad_(needs_grad and takes_gradient(same))

    return map_tensors(copied, value)


def takes_gradient(tensor: Tensor) -> bool:
    """Whether its element type has gradients: floating and complex ones."""
    return bool(tensor.is_floating_point() or tensor.is_complex())


def cast(fn: Any, dtype: Any, device: Any = None) -> Any:  # noqa: ANN401 -- module or function
    """A copy of a module in another element type; a function as it is.

    Complex parameters as in ``cast_inputs``: ``Module.to`` would make them real.
    """
    if not isinstance(fn, torch().nn.Module):
        return fn

    def converted(tensor: Tensor) -> Tensor:
        return tensor.to(dtype=kind_of_width(tensor, dtype), device=device)

    return copy.deepcopy(fn)._apply(converted)  # noqa: SLF001 -- what Module.to itself calls


def cast_inputs(inputs: Sequence[Any], dtype: Any, device: Any = None) -> list[Any]:  # noqa: ANN401
    """Inputs with floating tensors in another element type, and all on another device.

    Complex ones get the type whose parts are of it; where there is none they stay as they are.
    """

    def converted(tensor: Tensor) -> Tensor:
        kind = kind_of_width(tensor, dtype)
        return tensor.detach().to(dtype=kind, device=device or tensor.device)

    return [map_tensors(converted, each) for each in inputs]


def kind_of_width(tensor: Tensor, dtype: Any) -> Any:  # noqa: ANN401 -- torch element types
    """The element type of a tensor once floating ones are in another: its own where it has none."""
    if tensor.is_complex():
        made = COMPLEX.get(str(dtype).removeprefix("torch."))
        return getattr(torch(), made) if made else tensor.dtype
    return dtype if tensor.is_floating_point() else tensor.dtype


@contextmanager
def plain_attention() -> Iterator[None]:
    """Attention by its formula: the fused kernels have no float64 path."""
    try:
        attention = torch_module("nn.attention")
    except ImportError:  # torch before 2.3
        yield
        return
    with attention.sdpa_kernel(attention.SDPBackend.MATH):
        yield


def precisions(fn: Callable[..., object], inputs: Sequence[Any]) -> frozenset[str]:
    """Floating element types in which a function computes, as its operators show them.

    Of compiled functions the original runs: under a mode nothing is compiled, and torch may keep
    it so. What a hand-written kernel does inside is not seen.
    """
    seen: set[str] = set()
    mode = torch_module("utils._python_dispatch").TorchDispatchMode

    class Watch(mode):  # type: ignore[misc, valid-type]
        def __torch_dispatch__(
            self,
            func: Any,  # noqa: ANN401 -- torch's protocol
            types: Any,  # noqa: ANN401
            args: Any = (),  # noqa: ANN401
            kwargs: Any = None,  # noqa: ANN401
        ) -> Any:  # noqa: ANN401
            result = func(*args, **(kwargs or {}))
            names = [
                str(each.dtype).removeprefix("torch.")
                for each in tensors_in(result)
                if takes_gradient(each)
            ]
            seen.update(PARTS.get(name, name) for name in names)
            return result

    plain = getattr(fn, "_torchdynamo_orig_callable", getattr(fn, "_orig_mod", fn))
    with Watch(), torch().no_grad():
        plain(*[_copied(each, needs_grad=False) for each in inputs])
    return frozenset(seen)
