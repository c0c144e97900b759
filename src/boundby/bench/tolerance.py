"""How far a correct result may lie from the float64 reference, and why.

The measure is the relative error of the whole tensor, ``norm(x - x64) / norm(x64)``: it does not
jump where single elements are near zero. A candidate passes when its error is at most ``k`` times
that of the baseline, computed at the precision of the candidate: no worse than what it replaces.
Where the baseline happens to be exact, the floor of the element type holds.
"""

from __future__ import annotations

FACTOR = {"float64": 2.0, "float32": 2.0, "float16": 3.0, "bfloat16": 3.0}
"""``k`` of ``torch._dynamo.utils.same``: 2 for float32, 3 for half precision."""
SMALL_FACTOR = 10.0
SMALL_ELEMENTS = 1000
"""Errors of few elements scatter: the same source allows 8 to 10 for tiny tensors."""

FLOOR = {
    "float64": 1e-13,
    "float32": 1e-5,
    "float16": 2.0**-10,
    "bfloat16": 2.0**-8,
    "float8_e4m3fn": 2.0**-4,
    "float8_e5m2": 2.0**-3,
}
"""float32: another order of a sum moves results by about 1e-5 of their size, so 1e-6 fails after
any fusion. Half precision and below: the rounding of one result, half of a last place (bfloat16
keeps 8 significant bits, float16 11). float64: the order of a sum again."""

ELEMENTWISE = {
    "float64": (1e-7, 1e-7),
    "float32": (1e-5, 1e-5),
    "float16": (1e-3, 1e-3),
    "bfloat16": (1e-2, 1e-2),
}
"""rtol and atol where only one of them was given: what a reordering moves single elements by."""

ORDER = ("float8_e5m2", "float8_e4m3fn", "bfloat16", "float16", "float32", "float64")
"""Element types by the bits of their significand, the fewest first."""


def lowest(dtypes: frozenset[str]) -> str:
    """The element type with the fewest significant bits; float32 where none is known."""
    return next((each for each in ORDER if each in dtypes), "float32")


def factor(dtype: str, elements: int) -> float:
    """``k`` for a tensor of so many elements."""
    return SMALL_FACTOR if elements < SMALL_ELEMENTS else FACTOR.get(dtype, 3.0)


def limit(dtype: str, elements: int, baseline: float, k: float | None = None) -> float:
    """Largest relative error that passes.

    Args:
        dtype: Lowest precision in which the candidate computes.
        elements: Of the tensor.
        baseline: Relative error of the baseline at that precision.
        k: The user's factor; None for that of the type.
    """
    return max((k or factor(dtype, elements)) * baseline, FLOOR.get(dtype, FLOOR["bfloat16"]))
