"""Where launches come from: optimizer, casts, Python loops, elementwise chains, small shapes."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from boundby.evidence.launched import Launched
from boundby.evidence.loops import find_loop
from boundby.evidence.naming import Bools
from boundby.units import NS_PER_US

ELEMENTWISE = re.compile(r"elementwise_kernel|elementwise_kernel_with_index")
CAST = re.compile(r"^aten::_to_copy$")
COPY = re.compile(r"^aten::copy_$")
SMALL_US = 10.0
"""Kernels shorter than this run shorter than any host submits them (10 to 30 us an operator)."""


@dataclass(frozen=True)
class Origins:
    """Shares of the launches inside steps; each launch counts once, for the first that fits.

    Attributes:
        optimizer: Inside an optimizer's update.
        casts: Kernels that change the element type.
        python_loop: A short pattern of operators that repeats on slices of a tensor.
        elementwise: Elementwise kernels next to each other, which a compiler could merge.
        small: Kernels shorter than their submission, of none of the origins above.
        other: The rest; the six sum to 1.
        loop_repeats: How often a step repeats the pattern of its longest loop.
        elementwise_device: Share of *device time* in elementwise chains, casts among them.
        casts_device: Share of *device time* in casts.
    """

    optimizer: float | None = None
    casts: float | None = None
    python_loop: float | None = None
    elementwise: float | None = None
    small: float | None = None
    other: float | None = None
    loop_repeats: float | None = None
    elementwise_device: float | None = None
    casts_device: float | None = None


def find_origins(launched: Launched) -> Origins:
    """Where the launches of the steps come from; all None without launches."""
    if not len(launched):
        return Origins()
    update, casts = launched.by_update, is_cast(launched)
    loop = find_loop(launched)
    chained = in_chain(launched, launched.kernels(ELEMENTWISE) & launched.alone & ~update)
    small = launched.is_kernel & (launched.work < SMALL_US * NS_PER_US)
    owner = np.select([update, casts, loop.inside, chained, small], [0, 1, 2, 3, 4], default=5)
    optimizer, cast, python_loop, elementwise, short, other = (
        np.bincount(owner, minlength=6) / len(launched)
    ).tolist()
    device = float(launched.work.sum())
    return Origins(
        optimizer=optimizer,
        casts=cast,
        python_loop=python_loop,
        elementwise=elementwise,
        small=short,
        other=other,
        loop_repeats=loop.repeats or None,
        elementwise_device=float(launched.work[chained].sum()) / device if device else None,
        casts_device=float(launched.work[casts].sum()) / device if device else None,
    )


def is_cast(launched: Launched) -> Bools:
    """bool[m]: kernels that copy a tensor into another element type on the device."""
    candidates = launched.by(COPY) & launched.is_kernel
    candidates &= launched.under(CAST)
    return candidates & ~_keeps_type(launched, candidates)


def _keeps_type(launched: Launched, candidates: Bools) -> Bools:
    """bool[m]: copies whose recorded types say that only the layout changes."""
    signature = launched.signatures()
    same = np.zeros(len(launched.timeline.recording.signatures) + 1, dtype=np.bool_)
    for index in np.unique(signature[candidates]).tolist():
        same[index] = index >= 0 and _same_types(
            launched.timeline.recording.signatures[index].types
        )
    return np.asarray(same[signature], dtype=np.bool_)


def _same_types(raw: bytes) -> bool:
    types = re.findall(rb'"([^"]*)"', raw)
    return len(types) > 1 and types[0] == types[1]


def in_chain(launched: Launched, member: Bools) -> Bools:
    """bool[m]: members with another member right before or after them in the same step."""
    beside = member[1:] & member[:-1] & (launched.step[1:] == launched.step[:-1])
    return np.concatenate((beside, [False])) | np.concatenate(([False], beside))
