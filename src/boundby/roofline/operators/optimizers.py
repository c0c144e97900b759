"""Operators over lists of tensors: foreach arithmetic and fused optimizers.

Recorders write the sizes of list members but not their type: it comes from the kernel's name
(``dtypes.kernel_dtype``), and without one the bytes stay uncounted.
"""

from __future__ import annotations

from boundby.roofline.arguments import Arguments, Tensor
from boundby.roofline.costs import Cost, count
from boundby.roofline.operators.rule import Rule, moved

ADAM_FLOPS = 14
"""An element: decay 1, two moments 3 + 4, bias corrections 2, root 1, epsilon 1, step 2."""
SGD_FLOPS = 4
"""Weight decay 1 (as multiply-add 2), step 2."""
MOMENTUM_FLOPS = 2
"""Buffer times momentum plus gradient."""
ADAGRAD_FLOPS = 7


def _elements(tensors: tuple[Tensor, ...]) -> int:
    return sum(tensor.numel for tensor in tensors)


def _foreach(flops: int, special: int = 0, *, reads: bool = True, writes: bool = True) -> Rule:
    """Reads every list of the call and writes one like the first.

    Lists of scalar tensors add next to nothing. ``reads`` False: the first is only written;
    ``writes`` False: only a scalar a tensor comes out.
    """

    def rule(arguments: Arguments) -> Cost:
        first = arguments.tensors(0)
        others = [t for group in arguments.lists()[1:] for t in group]
        bytes_ = moved(*others) + (moved(*first) if reads else 0.0)
        bytes_ += moved(*first) if writes else 0.0
        elements = _elements(first)
        return count(flops * elements, bytes_, first[0].dtype, special=special * elements)

    return rule


def _unscale(arguments: Arguments) -> Cost:
    """``_amp_foreach_non_finite_check_and_unscale_(grads, found, scale)``."""
    grads = arguments.tensors(0)
    return count(2 * _elements(grads), 2 * moved(*grads), grads[0].dtype)


def _fused(flops: int, states: int, special: int) -> Rule:
    """Parameters, gradients and ``states`` lists of state: all read, all but gradients written.

    A state list that is empty (no momentum, no amsgrad) is not there to be moved.
    """

    def rule(arguments: Arguments) -> Cost:
        parameters, gradients = arguments.tensors(0), arguments.tensors(1)
        slots = arguments.slots[2 : 2 + states]
        kept = [slot for slot in slots if isinstance(slot, tuple) and slot]
        held = moved(*parameters, *(t for group in kept for t in group))
        elements = _elements(parameters)
        total = flops + (MOMENTUM_FLOPS if states == 1 and kept else 0)
        bytes_ = 2 * held + moved(*gradients)
        return count(total * elements, bytes_, parameters[0].dtype, special=special * elements)

    return rule


_ONE = (
    "add sub mul maximum minimum clamp_max clamp_min abs neg sign ceil floor round trunc frac "
    "max reciprocal"
)
_FUNCTIONS = (
    "div sqrt rsqrt exp expm1 log log2 log10 log1p sin cos tan tanh sigmoid erf erfc pow lgamma"
)


def _rules() -> dict[str, Rule]:
    rules: dict[str, Rule] = dict.fromkeys(_ONE.split(), _foreach(1))
    rules |= dict.fromkeys(_FUNCTIONS.split(), _foreach(1, 1))
    rules |= {"addcmul": _foreach(3), "addcdiv": _foreach(3, 1), "lerp": _foreach(3)}
    rules["copy"] = _foreach(0, reads=False)
    rules["zero"] = _foreach(0, reads=False)
    foreach = {f"_foreach_{name}": rule for name, rule in rules.items()}
    foreach |= {f"{name}_": rule for name, rule in foreach.items()}
    foreach["_foreach_norm"] = _foreach(2, writes=False)
    return foreach


RULES: dict[str, Rule] = {
    **_rules(),
    "_amp_foreach_non_finite_check_and_unscale_": _unscale,
    "_fused_adam_": _fused(ADAM_FLOPS, 3, 2),
    "_fused_adamw_": _fused(ADAM_FLOPS, 3, 2),
    "_fused_sgd_": _fused(SGD_FLOPS, 1, 0),
    "_fused_adagrad_": _fused(ADAGRAD_FLOPS, 1, 2),
}
