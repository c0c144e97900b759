"""``tune``: one change at a time, correctness before speed. Read ``tune`` first: it is the loop."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from boundby.experiment.batch import Search, search
from boundby.experiment.choose import BROKEN, Pick, State, Tried, repaired
from boundby.experiment.deciding import decide
from boundby.experiment.ending import Budget, conclude
from boundby.experiment.journal import Journal
from boundby.experiment.lab import Lab
from boundby.experiment.outcome import (
    Outcome,
    record_of,
    with_caliber,
    with_diagnosis,
)
from boundby.experiment.records import Record
from boundby.experiment.resuming import begin
from boundby.experiment.settings import Settings
from boundby.experiment.values import BATCH, Configuration, Decision, Trial, without

WITH_BATCH = (BATCH, "checkpointing")
"""Changes that are tried together with the batch size that they make possible."""

Say = Callable[[str], None]


def tune(lab: Lab, journal: Journal, settings: Settings, say: Say) -> Outcome:
    """Try changes one at a time until nothing is predicted to pay or the budget is spent.

    Raises:
        BoundbyError: The unchanged program does not run or cannot be compared with itself.
    """
    budget = Budget(settings, lab.now)
    try:
        state = begin(lab, journal, settings, say)
        while (pick := budget.next(state)) is not None:
            say(f"trial {budget.trials}: {pick.change.title} ({pick.value})")
            found = attempt(lab, journal, state, pick, budget)
            decision, why = judged(found)
            state = advance(lab, state, found, decision)
            journal.append(write_up(state, found, decision, why))
            say(f"  {decision}: {why}")
    finally:
        lab.close()
    journal.end(budget.ended, budget.seconds)
    return conclude(journal, settings, state, budget)


@dataclass(frozen=True)
class Attempt:
    """A trial that was made.

    Attributes:
        pick: What was tried; with the size that a batch search found.
        searched: That search; None where the batch was not the change.
    """

    pick: Pick
    trial: Trial
    searched: Search | None = None


def attempt(lab: Lab, journal: Journal, state: State, pick: Pick, budget: Budget) -> Attempt:
    """Try one change, after a search for its batch size where it has one."""
    if pick.change.id not in WITH_BATCH:
        return Attempt(pick, lab.trial(pick.configuration, state.best))
    found = search_batch(lab, journal, state, pick, budget)
    if found.size is None:
        pick = replace(pick, configuration=state.best)
        return Attempt(pick, Trial(message=found.why, effect="same"), found)
    value = str(found.size) if pick.change.id == BATCH else pick.value
    pick = replace(pick, value=value, configuration=with_size(pick.configuration, found.size))
    return Attempt(pick, lab.trial(pick.configuration, state.best), found)


def search_batch(lab: Lab, journal: Journal, state: State, pick: Pick, budget: Budget) -> Search:
    """Sizes above today's, each measured in a process of its own."""

    def probe(size: int) -> Trial | None:
        if budget.is_short():
            return None
        configuration = with_size(pick.configuration, size)
        found = lab.probe(configuration)
        why = found.message or f"{found.samples_per_s or 0:.4g} samples/s"
        record = record_of("probe", configuration, found, "probed", why, pick)
        journal.append(with_caliber({**record, "value": str(size)}, state.facts))
        return found

    present = state.measured.samples or state.facts.batch or 1
    cap = budget.settings.memory_cap
    capacity = state.facts.memory_bytes if cap is None else cap
    start = None if pick.change.id == BATCH else state.out_of_memory_at
    return search(present, state.measured.samples_per_s or 0.0, probe, capacity, start)


def with_size(configuration: Configuration, size: int) -> Configuration:
    """A configuration at a batch size."""
    return (*without(configuration, (BATCH,)), (BATCH, str(size)))


def judged(found: Attempt) -> tuple[Decision, str]:
    """What becomes of an attempt, and why: by its trial, or by a search that found no size."""
    decision, why = decide(found.trial)
    if found.searched is None:
        return decision, why
    if found.searched.size is None:
        is_refused = found.searched.ended == "failed" and len(found.searched.probes) == 1
        why = f"no size that was tried is faster: {found.searched.why}"
        return "failed" if is_refused else "reverted", why
    return decision, f"{why}; {found.searched.why}"


def advance(lab: Lab, state: State, found: Attempt, decision: Decision) -> State:
    """The state after a trial: another best and another diagnosis where it was kept."""
    pick = found.pick
    key = pick.change.id, "search" if pick.change.id == BATCH else pick.value
    times = state.tried[key].times + 1 if key in state.tried else 1
    kept = state.kept + (decision == "kept")
    after = replace(
        state,
        kept=kept,
        tried={**state.tried, key: Tried(decision, kept, times)},
        pending=repaired(pick, found.trial, state) if decision in BROKEN else None,
    )
    if found.searched is not None and found.searched.ended == "memory":
        after = replace(after, out_of_memory_at=found.searched.failed_at)
    if decision != "kept":
        lab.drop()
        return after
    lab.keep()
    diagnosed = lab.diagnose(pick.configuration)
    return replace(after, best=pick.configuration, measured=found.trial, diagnosed=diagnosed)


def write_up(state: State, found: Attempt, decision: Decision, why: str) -> Record:
    """The record of a trial."""
    made = record_of("trial", found.pick.configuration, found.trial, decision, why, found.pick)
    if decision == "kept":
        made = with_diagnosis(made, state.diagnosed)
    return with_caliber(made, state.facts)
