"""How the optimizer updates the parameters, and what that costs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

UpdateKind = Literal["loop", "foreach", "fused"]


@dataclass(frozen=True)
class Update:
    """The optimizer's update.

    Attributes:
        kind: One tensor at a time, lists of tensors an operation, or one kernel for all of it.
        launches: Launches of one update.
        host_share: Share of recorded host time inside the update.
        device_share: Share of device time launched by it.
    """

    kind: UpdateKind | None = None
    launches: float | None = None
    host_share: float | None = None
    device_share: float | None = None
