"""Where launches come from: optimizer, casts, Python loops, elementwise chains, small shapes."""

from __future__ import annotations

from dataclasses import dataclass


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
        elementwise_device: Share of *device time* in elementwise chains.
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
