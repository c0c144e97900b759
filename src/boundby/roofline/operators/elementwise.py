"""Elementwise operators: every distinct operand element read once, the broadcast result written.

Operations an element are those of the formula, each function (exp, erf, division) being one; the
time the special-function unit needs for them is counted apart. Broadcasting follows the shapes, the
type of the result torch's promotion: operands without dimensions only lift the category.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

from boundby.frozen import frozen
from boundby.roofline.arguments import Arguments, Shape, Tensor
from boundby.roofline.costs import Cost, UncountedError, count
from boundby.roofline.dtypes import category, promote
from boundby.roofline.operators.rule import Rule, broadcast, moved, size

Result = Literal["promoted", "bool", "float"]


@frozen
class Formula:
    """An elementwise formula.

    Attributes:
        slots: Leading slots that may hold operands; a tensor in a later slot is the output.
        flops: Operations an element of the result.
        special: Evaluations of the special-function unit an element (see ``Cost``).
        result: Type of the result: that of the operands, bool, or at least a float.
    """

    slots: int
    flops: int
    special: float = 0
    result: Result = "promoted"


def _table(formula: Formula, names: str) -> dict[str, Formula]:
    return dict.fromkeys(names.split(), formula)


FORMULAS: dict[str, Formula] = {
    **_table(
        Formula(1, 1),
        "abs neg negative sign sgn floor ceil round trunc frac relu square deg2rad rad2deg "
        "bitwise_not positive conj_physical nan_to_num",
    ),
    **_table(Formula(1, 2), "relu6 hardtanh threshold leaky_relu"),
    **_table(Formula(1, 4), "hardsigmoid hardswish"),
    **_table(Formula(1, 1, 1, "float"), "reciprocal sqrt rsqrt exp exp2"),
    **_table(Formula(1, 1, 2, "float"), "tanh cosh erfinv"),
    **_table(Formula(1, 1, 4.5, "float"), "sinh atan sinc i0 special_i0e"),
    **_table(Formula(1, 1, 5, "float"), "sin cos tan asin acos log log2 log10 log1p erf"),
    **_table(Formula(1, 1, 5.5, "float"), "expm1 atanh"),
    **_table(Formula(1, 1, 6.5, "float"), "asinh acosh erfc"),
    **_table(Formula(1, 1, 10, "float"), "lgamma"),
    **_table(Formula(1, 1, 30, "float"), "digamma"),
    **_table(Formula(1, 3, 4, "float"), "sigmoid"),
    **_table(Formula(1, 3, 6, "float"), "logit"),
    **_table(Formula(1, 4, 4), "silu"),
    **_table(Formula(1, 4, 6), "elu selu celu"),
    **_table(Formula(1, 4, 8), "softplus"),
    **_table(Formula(1, 5, 5.5), "gelu"),
    **_table(Formula(1, 6, 7.5), "mish"),
    **_table(
        Formula(1, 1, 0, "bool"),
        "isnan isinf isfinite isposinf isneginf signbit logical_not",
    ),
    **_table(Formula(3, 1), "where masked_fill"),
    **_table(Formula(3, 2), "clamp clip addcmul"),
    **_table(Formula(2, 1), "clamp_min clamp_max"),
    **_table(
        Formula(2, 1),
        "mul multiply maximum minimum fmax fmin fmod remainder bitwise_and bitwise_or "
        "bitwise_xor __and__ __or__ __xor__ bitwise_left_shift bitwise_right_shift __lshift__ "
        "__rshift__ floor_divide copysign ldexp heaviside _add_relu",
    ),
    **_table(Formula(2, 1), "add sub subtract rsub"),  # alpha = 1: the scaling is no operation
    **_table(Formula(2, 1, 1, "float"), "div divide true_divide hypot"),
    **_table(Formula(2, 1, 12), "pow"),
    **_table(Formula(2, 1, 7.5, "float"), "atan2 xlogy logaddexp logaddexp2"),
    **_table(
        Formula(2, 1, 0, "bool"),
        "eq ne lt le gt ge not_equal less less_equal greater greater_equal isclose "
        "logical_and logical_or logical_xor",
    ),
    **_table(Formula(3, 3, 1), "addcdiv"),
    **_table(Formula(3, 3), "lerp"),
    **_table(Formula(2, 2), "prelu _prelu_kernel"),
    **_table(
        Formula(2, 1),
        "threshold_backward hardtanh_backward leaky_relu_backward relu_backward "
        "native_dropout_backward _masked_scale",
    ),
    **_table(Formula(2, 3), "tanh_backward sigmoid_backward hardsigmoid_backward"),
    **_table(Formula(2, 4), "hardswish_backward"),
    **_table(Formula(2, 6, 4), "silu_backward softplus_backward logit_backward"),
    **_table(Formula(2, 9, 11), "mish_backward"),
    **_table(Formula(2, 10, 7), "gelu_backward"),
    **_table(Formula(6, 4, 2), "elu_backward"),
    **_table(Formula(2, 5, 6), "log_sigmoid_backward"),
    **_table(Formula(3, 3), "mse_loss_backward"),
    **_table(Formula(3, 5), "smooth_l1_loss_backward huber_loss_backward"),
    **_table(Formula(4, 6, 1), "binary_cross_entropy_backward"),
    **_table(Formula(2, 1), "complex polar"),
}
"""By the name of the functional form; the in-place form (trailing underscore) costs the same.

Evaluations of the special-function unit: above 4, time an element of 2**28 bfloat16 elements on an
H200 (torch 2.11) over that of one evaluation; below, where memory takes longer, as the formula has.
"""

MULTIPLIED_POWERS = ("2", "3", "-1", "-2", "0.5", "-0.5", "1", "0")
"""Exponents that torch's kernel takes as products, reciprocals or roots."""


def _operands(arguments: Arguments, slots: int) -> list[Tensor]:
    found = [t for t in map(arguments.optional, range(slots)) if t is not None]
    if not found:
        raise UncountedError
    return found


def result_dtype(operands: list[Tensor], kind: Result) -> str:
    """The type of the result of an elementwise operator.

    Operands without dimensions (wrapped numbers) count only where their category is higher.
    """
    dimensioned = [t.dtype for t in operands if t.shape] or [t.dtype for t in operands]
    found = promote(dimensioned)
    for loose in (t.dtype for t in operands if not t.shape):
        if found and category(promote([found, loose])) != category(found):
            found = "float32" if category(loose) == "float" else loose
    if kind == "bool":
        return "bool"
    return "float32" if kind == "float" and category(found) in ("bool", "int") else found


def arithmetic(operands: list[Tensor]) -> str:
    """The type the arithmetic is done in: that of the widest operand."""
    return promote([t.dtype for t in operands if t.shape] or [t.dtype for t in operands])


def elementwise(
    operands: list[Tensor], formula: Formula, *, in_place: bool = False, shape: Shape | None = None
) -> Cost:
    """The cost of one formula over its operands; in place, the first operand is the output."""
    broadcasted = shape if shape is not None else broadcast(t.shape for t in operands)
    out_shape = operands[0].shape if in_place else broadcasted
    dtype = operands[0].dtype if in_place else result_dtype(operands, formula.result)
    elements = 1
    for length in out_shape:
        elements *= length
    bytes_ = moved(*operands) + size(out_shape, dtype)
    cost = count(
        formula.flops * elements,
        bytes_,
        arithmetic(operands),
        special=formula.special * elements,
    )
    alike = [t.bytes for i, t in enumerate(operands) if t in operands[:i]]
    return replace(cost, alike=sum(alike)) if alike and cost.bytes is not None else cost


def _rule(formula: Formula, *, in_place: bool) -> Rule:
    def rule(arguments: Arguments) -> Cost:
        return elementwise(_operands(arguments, formula.slots), formula, in_place=in_place)

    return rule


def _power(*, in_place: bool) -> Rule:
    """``pow(self, exponent)``: a small integer exponent is a product or two."""

    def rule(arguments: Arguments) -> Cost:
        formula = FORMULAS["pow"]
        if arguments.text(1).rstrip("0").rstrip(".") in MULTIPLIED_POWERS:
            formula = replace(formula, special=0)
        return elementwise(_operands(arguments, 2), formula, in_place=in_place)

    return rule


def _glu(arguments: Arguments) -> Cost:
    """Half of the input gates the other half."""
    x = arguments.tensor(0)
    bytes_ = moved(x) + size(x.shape, x.dtype) / 2
    return count(2 * x.numel, bytes_, x.dtype, special=x.numel)


def _glu_backward(arguments: Arguments) -> Cost:
    grad, x = arguments.tensor(0), arguments.tensor(1)
    bytes_ = moved(grad, x) + size(x.shape, x.dtype)
    return count(4 * x.numel, bytes_, x.dtype, special=x.numel)


def _log_sigmoid(arguments: Arguments) -> Cost:
    x = arguments.tensor(0)
    bytes_ = moved(x) + size(x.shape, x.dtype)
    return count(4 * x.numel, bytes_, x.dtype, special=6 * x.numel)


def _dropout(arguments: Arguments) -> Cost:
    """Writes the result and a mask of one byte an element."""
    x = arguments.tensor(0)
    bytes_ = moved(x) + size(x.shape, x.dtype) + size(x.shape, "bool")
    return count(2 * x.numel, bytes_, x.dtype)


def _rules() -> dict[str, Rule]:
    rules = {name: _rule(formula, in_place=False) for name, formula in FORMULAS.items()}
    in_place = {name: _rule(formula, in_place=True) for name, formula in FORMULAS.items()}
    rules.update({f"{name}_": rule for name, rule in in_place.items()})
    rules.update({f"__i{name}__": in_place[f"__{name}__"] for name in ("and", "or", "xor")})
    return rules


RULES: dict[str, Rule] = {
    **_rules(),
    "pow": _power(in_place=False),
    "pow_": _power(in_place=True),
    "glu": _glu,
    "glu_backward": _glu_backward,
    "log_sigmoid_forward": _log_sigmoid,
    "native_dropout": _dropout,
    "_fused_dropout": _dropout,
}
