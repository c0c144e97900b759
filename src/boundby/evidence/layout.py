"""Memory layouts: operands whose strides fight, and convolutions that transpose."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Layout:
    """Layout of operands; shares of device time.

    Attributes:
        fighting: Elementwise kernels whose large operands run along different dimensions.
        fights: Calls of them a step.
        pays_from: Uses of one operand from which copying it first is cheaper.
        convolutions: All convolution kernels.
        transposes: Kernels that turn NCHW into NHWC or back, for a convolution.
        grouped: Whether a convolution has groups.
        autotunes: Whether convolution algorithms are tried out inside steps.
    """

    fighting: float | None = None
    fights: float | None = None
    pays_from: float | None = None
    convolutions: float | None = None
    transposes: float | None = None
    grouped: bool | None = None
    autotunes: bool | None = None
