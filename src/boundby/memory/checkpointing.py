"""Whether recomputing activations pays: only where the freed memory buys something."""

from __future__ import annotations

from dataclasses import dataclass

HOST_BOUND = frozenset({"launch-bound", "python-bound", "sync-bound"})
"""Classes in which the step hardly grows with the batch: a larger one moves the class."""

RECOMPUTE_SHARE = 0.3
"""Price until measured. The case study on an H200, compiled, batch 64: 29.15 ms without and 41.9 ms
with every block computed again (44%), 7791 to 2226 MiB. At batch 128, 52.7 and 62.6 ms (19%):
2430 samples per second without, 2045 with. Eager in bf16 at batch 64: 72.5 ms, 96.6 with all blocks
computed again (33%), 84.3 with every other one (16%)."""

GAIN_WORTH = 0.02


@dataclass(frozen=True)
class Advice:
    """Whether to checkpoint, and why.

    Attributes:
        larger_batch: Batch that the freed memory would hold; None where unknown.
        gain: Expected change of samples per second, as a share; None where unknown.
    """

    pays: bool | None
    reason: str
    larger_batch: int | None = None
    gain: float | None = None


def advise(
    *,
    fits: bool | None,
    batch: int,
    larger_batch: int | None,
    time_class: str | None,
    device_share: float | None = None,
    price: float = RECOMPUTE_SHARE,
) -> Advice:
    """Weigh the price against what the room is worth.

    Args:
        fits: Whether the batch fits without it; None where unknown.
        larger_batch: Batch that fits with it.
        time_class: Verdict on the time of a step; None where nobody measured it.
        device_share: Busy share of the step: below 1, the host leaves room on the device.
    """
    if fits is False:
        return Advice(
            pays=True, reason="without it the batch does not fit at all", larger_batch=larger_batch
        )
    if time_class is None:
        return Advice(
            None,
            "whether the freed memory buys anything is a question of time: boundby trace",
            larger_batch,
        )
    if time_class not in HOST_BOUND or device_share is None or larger_batch is None:
        return Advice(
            pays=False,
            reason=f"the step is {time_class}: a larger batch takes as much longer, and "
            f"recomputing costs about {price:.0%}",
            larger_batch=larger_batch,
            gain=-price / (1 + price),
        )
    factor = larger_batch / batch
    step = max(1.0, device_share * factor * (1 + price))
    gain = factor / step - 1
    pays = gain > GAIN_WORTH
    words = "pays" if pays else "does not pay"
    return Advice(
        pays,
        f"the step is {time_class} with the device busy {device_share:.0%}: batch {larger_batch} "
        f"with recomputation {words}, {gain:+.0%} samples per second",
        larger_batch,
        gain,
    )
