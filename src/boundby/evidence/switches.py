"""Debug switches left on, and what the interpreter does on its own."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Switches:
    """Switches and automatics.

    Attributes:
        blocking_launches: Whether every launch waits for its kernel (``CUDA_LAUNCH_BLOCKING``).
        anomaly: Whether the backward pass tests every gradient for NaN.
        uncached_memory: Whether every operator allocates through the driver.
        collections: Runs of the garbage collector a step.
        collection_ms: Their time a step.
    """

    blocking_launches: bool | None = None
    anomaly: bool | None = None
    uncached_memory: bool | None = None
    collections: float | None = None
    collection_ms: float | None = None
