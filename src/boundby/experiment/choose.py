"""Which change to try next: the best predicted gain per risk among those that apply.

Gains that are alike are taken in the order of the catalogue: predictions are no sharper.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from boundby.experiment.change import Change
from boundby.experiment.changes import BY_ID, CHANGES, sdpa
from boundby.experiment.predict import Prediction, predict
from boundby.experiment.settings import Settings
from boundby.experiment.values import (
    Configuration,
    Decision,
    Diagnosed,
    Facts,
    Trial,
    value_of,
    without,
)
from boundby.prescribe.order import LIKE

PAYS = 0.02
"""Predicted to gain less, a change is not tried (as in the ladder of a diagnosis)."""
AGAIN = 0.5
"""A change that was right but no faster counts half once something else was kept."""
BROKEN = ("rejected", "failed")
"""Decisions after which another way to apply the same change, or its stand-in, may be tried."""
MOST_TRIES = 3
"""Of one value: the second and third follow something that was kept since."""


NOT_DIAGNOSED = Diagnosed()


@dataclass(frozen=True)
class Tried:
    """What became of a value of a change: the decision, after how many kept changes, how often."""

    decision: Decision
    kept_before: int
    times: int = 1


@dataclass(frozen=True)
class State:
    """Where the search stands.

    Attributes:
        best: The configuration in force, and ``measured`` what it gave.
        kept: Changes kept so far.
        out_of_memory_at: Batch size that did not fit; None where none was too large.
        pending: What must be tried next: the repair of a change that a gate rejected.
    """

    facts: Facts
    best: Configuration
    measured: Trial
    diagnosed: Diagnosed = NOT_DIAGNOSED
    kept: int = 0
    tried: dict[tuple[str, str], Tried] = field(default_factory=dict)
    out_of_memory_at: int | None = None
    pending: Pick | None = None

    @property
    def step_ms(self) -> float:
        """Of the best so far."""
        return self.measured.step_ms or 0.0


@dataclass(frozen=True)
class Pick:
    """A trial to make.

    Attributes:
        configuration: The best so far with this one change.
        predicted_ms: Step time for the samples of today.
        worth: What it is chosen by: the gain, less where the same was no faster before.
    """

    change: Change
    value: str
    configuration: Configuration
    prediction: Prediction
    predicted_ms: float
    worth: float


def choose(state: State, settings: Settings, left_s: float | None = None) -> Pick | None:
    """The next trial; None where nothing is predicted to gain 2%, or takes longer than is left."""
    found = picks(state, settings)
    if left_s is not None:
        usual = state.measured.seconds
        found = (each for each in found if usual + each.change.extra_s(each.value) <= left_s)
    every = list(found)
    limit = LIKE * max((_per_risk(each) for each in every), default=0.0)
    return next((each for each in every if _per_risk(each) >= limit), None)


def picks(state: State, settings: Settings) -> Iterator[Pick]:
    """Every trial that is worth making, in the order of the catalogue."""
    for change in CHANGES:
        if not is_wanted(change, settings) or not change.fits(state.facts):
            continue
        if not _is_its_turn(change, state, settings):
            continue
        for value, weight in _open_values(change, state):
            found = predict(change, value, state.facts, state.diagnosed, state.step_ms)
            if found is not None and found.gain * weight >= PAYS:
                yield make_pick(change, value, state, found, found.gain * weight)
                break


def make_pick(change: Change, value: str, state: State, found: Prediction, worth: float) -> Pick:
    """A trial of a value, on top of the best so far."""
    kept = without(state.best, (change.id, *change.replaces))
    kept = change.adjust(kept) if change.adjust else kept
    predicted = state.step_ms * (1.0 - found.gain)
    return Pick(change, value, (*kept, (change.id, value)), found, predicted, worth)


def repaired(pick: Pick, trial: Trial, state: State) -> Pick | None:
    """The same change again, in the way that its failed gate suggests; None where there is none."""
    change = pick.change
    if _is_core_at_fault(pick, trial, state):
        return _with_another_core(pick, state)
    if change.repair is None or trial.gate is None or trial.gate.passed:
        return None
    value = change.repair(pick.value, trial.gate)
    if value is None or (change.id, value) in state.tried:
        return None
    return make_pick(change, value, state, pick.prediction, pick.worth)


def _is_core_at_fault(pick: Pick, trial: Trial, state: State) -> bool:
    """Whether the attention in force fails under another change: in bf16 it is another kernel."""
    if pick.change.id == sdpa.CHANGE.id:
        return False
    now, before = (value_of(each, sdpa.CHANGE.id) for each in (pick.configuration, state.best))
    if trial.gate is not None:
        return trial.gate.layouts.startswith("fail")
    return trial.failure == "crash" and now != before


def _with_another_core(pick: Pick, state: State) -> Pick | None:
    """The same change with the next attention function; None after the last."""
    now = value_of(pick.configuration, sdpa.CHANGE.id) or ""
    choices = sdpa.choices(state.facts)
    following = choices[choices.index(now) + 1 :] if now in choices else ()
    if not following:
        return None
    pairs = dict(pick.configuration) | {sdpa.CHANGE.id: following[0]}
    return replace(pick, configuration=tuple(pairs.items()))


def is_wanted(change: Change, settings: Settings) -> bool:
    """Whether the user lets it be tried."""
    if change.id in settings.skip or (settings.only and change.id not in settings.only):
        return False
    return not change.allow or change.allow in settings.allow


def _is_its_turn(change: Change, state: State, settings: Settings) -> bool:
    """Whether the change that a change stands in for was refused, or is none here."""
    if not change.stands_in_for:
        return True
    other = BY_ID[change.stands_in_for]
    if not is_wanted(other, settings) or not other.values(state.facts, state.best):
        return True
    return any(
        name == other.id and each.decision in BROKEN for (name, _), each in state.tried.items()
    )


def _open_values(change: Change, state: State) -> Iterator[tuple[str, float]]:
    """Values that may be tried now, with what they count."""
    if change.id == "checkpointing" and state.out_of_memory_at is None:
        return
    weight = 1.0
    for value in change.values(state.facts, state.best):
        if value_of(state.best, change.id) == value:
            continue
        before = state.tried.get((change.id, value))
        if before is None:
            yield value, weight
        elif before.decision in ("reverted", "probed", "kept"):
            if before.kept_before < state.kept and before.times < MOST_TRIES:
                yield value, weight * AGAIN
            if change.saves is None:
                weight *= AGAIN


def _per_risk(pick: Pick) -> float:
    return pick.worth / pick.change.risk
