"""Whether recomputing activations pays: only where the freed memory buys something."""

from __future__ import annotations

from dataclasses import dataclass

from boundby.memory.pace import Pace

RECOMPUTE_SHARE = 0.3
"""Price until measured. The case study on an H200, compiled, batch 64: 29.15 ms without and 41.9 ms
with every block computed again (44%), 7791 to 2226 MiB. At batch 128, 52.7 and 62.6 ms (19%):
2430 samples per second without, 2045 with. Eager in bf16 at batch 64: 72.5 ms, 96.6 with all blocks
computed again (33%), 84.3 with every other one (16%)."""

GAIN_WORTH = 0.02
TIMES = "x"


@dataclass(frozen=True)
class Advice:
    """Whether to checkpoint, and why.

    Attributes:
        pays: None where it depends on what nobody measured.
        grows: How many times as large a batch the freed memory would hold; None where unknown.
        gain: Expected change of samples per second, as a share; None where unknown.
    """

    pays: bool | None
    reason: str
    grows: float | None = None
    gain: float | None = None


def advise(
    *,
    fits: bool | None,
    pace: Pace | None,
    grows: float | None = None,
    grows_anyway: float = 1.0,
    price: float = RECOMPUTE_SHARE,
) -> Advice:
    """Weigh the price against what the room is worth.

    Args:
        fits: Whether the batch fits without it; None where unknown.
        pace: What bounds the step in time; None where nobody measured it.
        grows: Largest batch that fits with it, as a multiple of the batch.
        grows_anyway: Largest batch that fits without it, as a multiple of the batch.
        price: Device work that is done again, as a share of a step's.
    """
    if fits is False:
        return Advice(pays=True, reason="without it the batch does not fit at all", grows=grows)
    if pace is None:
        text = "whether the freed memory buys anything depends on what bounds the step in time"
        return Advice(None, text, grows)
    if not pace.is_of_host:
        text = f"the step is {pace.name}: a larger batch takes as much longer, and recomputing "
        text += f"costs about {price:.0%}"
        return Advice(pays=False, reason=text, grows=grows, gain=-price / (1 + price))
    if pace.busy is None or grows is None:
        missing = "how busy the device is" if pace.busy is None else "how large the device is"
        text = f"the step is {pace.name}, so a larger batch would pay; by how much depends on "
        return Advice(None, text + missing, grows)
    return _weighed(pace.name, pace.busy, grows, grows_anyway, price)


def _weighed(name: str, busy: float, grows: float, anyway: float, price: float) -> Advice:
    """Samples per second at the batch that fits with it, over those at the one without."""
    anyway = max(anyway, 1.0)
    with_it = grows / max(1.0, busy * grows * (1 + price))
    without = anyway / max(1.0, busy * anyway)
    gain = with_it / without - 1
    pays = gain > GAIN_WORTH
    text = f"the step is {name} with the device busy {busy:.0%}: a batch {grows:.3g}{TIMES} as "
    text += f"large with recomputation gives {gain:+.0%} samples per second"
    if anyway > 1:
        text += f" over one of {anyway:.3g}{TIMES}, which fits without"
    if pays and busy * grows * (1 + price) >= 1:
        text += "; the device is the limit then"
    return Advice(pays, text, grows, gain)
