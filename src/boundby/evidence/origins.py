"""Where launches come from: optimizer, casts, Python loops, elementwise chains, small shapes."""

from __future__ import annotations

import numpy as np

from boundby.evidence.casts import is_cast
from boundby.evidence.chains import chained_launches
from boundby.evidence.launched import Launched
from boundby.evidence.loops import find_loop
from boundby.frozen import frozen
from boundby.replay.marks import NO_GROUP
from boundby.units import NS_PER_US

SMALL_US = 10.0
"""Kernels shorter than this run shorter than any host submits them (10 to 30 us an operator)."""


@frozen
class Origins:
    """Shares of the launches inside steps; each launch counts once, for the first that fits.

    Attributes:
        optimizer: Inside an optimizer's update.
        casts: Kernels that change the element type.
        python_loop: A short pattern of operators that repeats on slices of a tensor.
        elementwise: Elementwise kernels, reductions and norms next to each other, which a compiler
            could merge.
        small: Kernels shorter than their submission, of none of the origins above.
        other: The rest; the six sum to 1.
        loop_repeats: How often a step repeats the pattern of its longest loop.
        elementwise_device: Share of *device time* in such chains, casts among them.
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
    chained = chained_launches(launched) != NO_GROUP
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
