"""How batches are loaded, as far as the ranges of the DataLoader tell."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Loading:
    """Loading of batches.

    Attributes:
        in_process: True where the training process loads, False where workers do.
        wait_ms: Median time of one call for a batch.
        longest_ms: The longest one.
        late_share: Share of calls that waited: longer than a tenth of the step.
        restarts: Starts of worker processes inside the recording.
    """

    in_process: bool | None = None
    wait_ms: float | None = None
    longest_ms: float | None = None
    late_share: float | None = None
    restarts: int | None = None
