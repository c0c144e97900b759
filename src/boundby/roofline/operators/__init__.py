"""FLOPs and least bytes of an operator, by its name and recorded arguments."""

from __future__ import annotations

import re

from boundby.read.recording import Signature
from boundby.roofline.arguments import decode
from boundby.roofline.costs import FREE, Cost, UncountedError
from boundby.roofline.operators import (
    attention,
    convolution,
    copies,
    elementwise,
    indexing,
    losses,
    matmul,
    normalization,
    optimizers,
    pooling,
    recurrent,
    reduction,
)
from boundby.roofline.operators.rule import Rule
from boundby.roofline.operators.triton import generated_cost, is_generated
from boundby.roofline.operators.views import BACKWARD_NODE, FREE_NAMES, FREE_PREFIXES

RULES: dict[str, Rule] = {
    **elementwise.RULES,
    **reduction.RULES,
    **normalization.RULES,
    **copies.RULES,
    **indexing.RULES,
    **losses.RULES,
    **pooling.RULES,
    **optimizers.RULES,
    **recurrent.RULES,
    **convolution.RULES,
    **attention.RULES,
    **matmul.RULES,
}
"""Every counted operator of torch without its namespace, others with theirs."""

_BACKWARD_NODE = re.compile(BACKWARD_NODE)


def is_free(op_name: str) -> bool:
    """Whether an operator starts no device work of its own: a view, allocation or container."""
    if op_name.startswith("aten::"):
        return op_name.removeprefix("aten::") in FREE_NAMES
    return op_name.startswith(FREE_PREFIXES) or _BACKWARD_NODE.match(op_name) is not None


def has_rule(op_name: str) -> bool:
    """Whether an operator is counted where its arguments were recorded."""
    return _rule(op_name) is not None or is_generated(op_name) or is_free(op_name)


def _rule(op_name: str) -> Rule | None:
    return RULES.get(op_name.removeprefix("aten::")) if "::" in op_name else None


def cost_of(op_name: str, signature: Signature, element: str = "") -> Cost | None:
    """FLOPs and least bytes of one call.

    Args:
        op_name: As recorded: ``aten::mm``, ``triton_poi_fused_add_0``, ``flash_attn::...``.
        signature: Its recorded arguments.
        element: Element type of tensors recorded without one (``dtypes.kernel_dtype``).

    Returns:
        The cost; ``FREE`` for views and containers; None for an operator without a rule, or one
        whose arguments were not recorded or do not tell. None is unknown, never zero.
    """
    if is_free(op_name):
        return FREE
    rule = _rule(op_name)
    generated = rule is None and is_generated(op_name)
    if rule is None and not generated:
        return None
    try:
        arguments = decode(signature, element)
        return rule(arguments) if rule is not None else generated_cost(op_name, arguments)
    except (UncountedError, IndexError, ValueError, ArithmeticError):
        return None
