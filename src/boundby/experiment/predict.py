"""What a change is predicted to gain: by the replay of the present program, else by a guess."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from boundby.experiment.change import Change
from boundby.experiment.values import Diagnosed, Facts

OFF_THE_POINT = 0.3
"""What is left of a guess for a change that saves what does not bind: not nothing, since a guess
does not know what the change enables."""
DEVICE_SIDE = frozenset({"compute", "traffic"})
HOST_SIDE = frozenset({"launch", "sync"})
DEVICE_CLASSES = ("compute-bound", "memory-bound")
HOST_CLASSES = ("launch-bound", "python-bound", "sync-bound")

PredictedBy = Literal["replay", "guess"]


@dataclass(frozen=True)
class Prediction:
    """What a change would save.

    Attributes:
        gain: Share of the time of a sample.
        by: Whether the replay says so, or a guess that only orders trials.
        reach: Lowest and highest step, ms, for the samples of today; None for a guess.
    """

    gain: float
    by: PredictedBy
    reach: tuple[float, float] | None = None


def predict(
    change: Change, value: str, facts: Facts, now: Diagnosed, step_ms: float
) -> Prediction | None:
    """What a change would gain now; None where the replay says that it does not pay."""
    name = _prescription(change, now)
    if name in now.idle:
        return None
    replayed = now.predicted.get(name)
    if replayed is not None:
        before = now.step_ms or step_ms
        reach = now.ranges.get(name)
        return Prediction(1.0 - replayed / before, "replay", reach and _on(reach, step_ms / before))
    return Prediction(_guess(change, value, facts, now), "guess")


def _prescription(change: Change, now: Diagnosed) -> str:
    """Its own; that of the change it stands in for where the diagnosis knows no other."""
    own, other = change.prescription, change.stands_in_for
    is_told = own in now.predicted or own in now.idle
    return other if other and not is_told else own


def _on(reach: tuple[float, float], speed: float) -> tuple[float, float]:
    """A range of steps at the speed of the trials: the recording was made in another process."""
    return reach[0] * speed, reach[1] * speed


def _guess(change: Change, value: str, facts: Facts, now: Diagnosed) -> float:
    if change.unseen is not None and now.verdict in DEVICE_CLASSES:
        return change.unseen
    share = change.prior(facts, value)
    saves = frozenset(change.saved_by(value))
    beside_device = now.verdict in DEVICE_CLASSES and not saves & DEVICE_SIDE
    beside_host = now.verdict in HOST_CLASSES and not saves & HOST_SIDE
    return share * OFF_THE_POINT if beside_device or beside_host else share
