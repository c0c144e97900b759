"""The tables of the page on the roofline, counted by ``boundby.roofline``."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import NamedTuple

from boundby.read.recording import Signature
from boundby.report import numbers
from boundby.roofline.ceilings import Ceilings
from boundby.roofline.costs import Cost
from boundby.roofline.devices import match_device
from boundby.roofline.operators import cost_of

DEVICE = "NVIDIA H200"
SMALL, LARGE = 128, 8192


class Example(NamedTuple):
    """An operator on square matrices: its operands' side, element type and peak."""

    name: str
    operands: int
    side: int
    dtype: str
    peak: str


EXAMPLES = (
    Example("add", 2, SMALL, "float", "float32"),
    Example("relu", 1, SMALL, "float", "float32"),
    Example("mm", 2, SMALL, "float", "float32"),
    Example("add", 2, LARGE, "float", "float32"),
    Example("relu", 1, LARGE, "float", "float32"),
    Example("mm", 2, LARGE, "float", "float32"),
    Example("mm", 2, LARGE, "float", "tf32"),
    Example("mm", 2, LARGE, "c10::BFloat16", "bfloat16"),
)


def cost(example: Example) -> Cost:
    """Operations and least bytes, as counted in a recording."""
    sizes = [[example.side, example.side]] * example.operands
    values = (sizes, [example.dtype] * example.operands, None, None)
    found = cost_of(f"aten::{example.name}", Signature(*map(_encoded, values)))
    if found is None:
        raise LookupError(example)
    return found


def roofs() -> Ceilings:
    """The data sheet of the device of the examples."""
    found = match_device(DEVICE).ceilings
    if found is None:
        raise LookupError(DEVICE)
    return found


def table() -> str:
    """One row an example: its work, and what each roof allows."""
    head = (
        "operator",
        "side",
        "precision",
        "FLOP",
        "bytes",
        "FLOP/byte",
        "memory",
        "arithmetic",
        "lower roof",
    )
    rows = (head, ("---",) * len(head), *_rows(roofs()))
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def _rows(ceilings: Ceilings) -> Iterator[tuple[str, ...]]:
    for example in EXAMPLES:
        work = cost(example)
        peak, bandwidth = ceilings.tflops(example.peak), ceilings.memory_gbs
        if None in (work.flops, work.bytes, work.intensity, peak, bandwidth):
            raise LookupError(example)
        memory_us = work.bytes / bandwidth / 1e3
        compute_us = work.flops / peak / 1e6
        yield (
            example.name,
            str(example.side),
            example.peak,
            _amount(work.flops),
            _amount(work.bytes),
            numbers.number(work.intensity),
            numbers.quantity(memory_us, "us"),
            numbers.quantity(compute_us, "us"),
            "memory" if memory_us > compute_us else "arithmetic",
        )


def fusion(elements: int) -> tuple[float, float]:
    """Bytes of add and relu in fp32, apart and as one kernel."""
    side = round(elements**0.5)
    add, relu = (
        cost(Example(name, n, side, "float", "float32")).bytes
        for name, n in (("add", 2), ("relu", 1))
    )
    between = side * side * 4  # the sum: written by one kernel, read by the other
    if add is None or relu is None:
        raise LookupError(elements)
    return add + relu, add + relu - 2 * between


def _amount(value: float) -> str:
    for unit in ("", "k", "M", "G", "T"):
        if value < 1000:  # noqa: PLR2004 -- the step between two units
            return f"{value:.3g} {unit}".strip()
        value /= 1000
    return f"{value:.3g} P"


def _encoded(value: object) -> bytes:
    return b"" if value is None else json.dumps(value).encode()
