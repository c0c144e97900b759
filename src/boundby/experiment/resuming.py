"""The start of a run: the baseline measured here, and a journal taken up where it ends."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

import msgspec

from boundby.errors import CannotTellError
from boundby.experiment.changes import BY_ID
from boundby.experiment.choose import (
    BROKEN,
    NOT_DIAGNOSED,
    Pick,
    State,
    Tried,
    is_wanted,
    make_pick,
    repaired,
)
from boundby.experiment.deciding import decide
from boundby.experiment.journal import Journal
from boundby.experiment.lab import Lab
from boundby.experiment.outcome import pairs_of, record_of, with_caliber, with_diagnosis
from boundby.experiment.predict import Prediction
from boundby.experiment.records import Record
from boundby.experiment.settings import Settings
from boundby.experiment.values import BATCH, Configuration, Gate, Trial

Say = Callable[[str], None]


def begin(lab: Lab, journal: Journal, settings: Settings, say: Say) -> State:
    """Measure the baseline; where the journal holds a best, measure that again as well.

    Raises:
        BoundbyError: The unchanged program does not run, or is not like itself.
    """
    say("baseline: what the unchanged program does, three seeds, and float64")
    facts = lab.facts()
    found = lab.trial((), None)
    if found.gate is not None and found.gate.passed is False:
        raise CannotTellError(
            f"the unchanged program differs from itself in a fresh process: {found.gate.why}",
            "draw all random numbers from torch, whose seed is set before each run",
        )
    if found.failure is not None or found.step_ms is None:
        raise CannotTellError(
            f"the unchanged program: {found.message or found.failure or 'it gave no number'}",
            found.hint or "run it alone first; the journal keeps what it printed",
        )
    lab.keep()
    journal.begin(facts)
    before = list(journal.records)
    resumed = best_in(before)
    diagnosed = NOT_DIAGNOSED if resumed else lab.diagnose(())
    made = with_diagnosis(record_of("baseline", (), found, "baseline", ""), diagnosed)
    journal.append(with_caliber(made, facts))
    say(f"  {found.step_ms:.4g} ms a step{'' if resumed else f'; {diagnosed.verdict}'}")
    state = State(facts, (), found, diagnosed, tried=tried_in(before))
    if resumed:
        state = taken_up(lab, journal, state, resumed, say)
    is_there = state.best == resumed
    return replace(state, pending=due_in(before, state, settings)) if is_there else state


def taken_up(
    lab: Lab, journal: Journal, state: State, configuration: Configuration, say: Say
) -> State:
    """The best of an earlier run, measured on this machine; kept where it still is better."""
    say(f"the best of the journal again: {', '.join(name for name, _ in configuration)}")
    found = lab.trial(configuration, ())
    decision, why = decide(found)
    made = with_caliber(record_of("again", configuration, found, decision, why), state.facts)
    if decision != "kept":
        lab.drop()
        journal.append(made)
        return replace(state, diagnosed=lab.diagnose(()))
    lab.keep()
    diagnosed = lab.diagnose(configuration)
    journal.append(with_diagnosis(made, diagnosed))
    kept = max((each.kept_before for each in state.tried.values()), default=0)
    return replace(state, best=configuration, measured=found, kept=kept, diagnosed=diagnosed)


def best_in(records: Iterable[Record]) -> Configuration:
    """The configuration that was kept last; empty where none was, or a change is unknown now."""
    found: Configuration = ()
    for record in records:
        if record.get("kind") in ("trial", "again") and record.get("decision") == "kept":
            found = tuple((str(name), str(value)) for name, value in record["configuration"])
    return found if all(name in BY_ID for name, _ in found) else ()


def due_in(records: Iterable[Record], state: State, settings: Settings) -> Pick | None:
    """The repair that was due when a run ended: its last trial was refused; None for none."""
    last = next((each for each in reversed(list(records)) if each["kind"] == "trial"), None)
    change = BY_ID.get(last["change"]) if last else None
    if last is None or change is None or last["decision"] not in BROKEN:
        return None
    applies = change.fits(state.facts) and change.values(state.facts, state.best)
    is_told = last["value"] is not None and last["predicted_ms"]
    if not (applies and is_told and is_wanted(change, settings)):
        return None
    try:
        gate = msgspec.convert(last["gate"], Gate | None)
    except msgspec.ValidationError:
        return None
    gain = 1.0 - last["predicted_ms"] / state.step_ms
    made = make_pick(change, last["value"], state, Prediction(gain, last["predicted_by"]), gain)
    pick = replace(made, configuration=pairs_of(last))
    return repaired(pick, Trial(last["failure"], gate=gate), state)


def tried_in(records: Iterable[Record]) -> dict[tuple[str, str], Tried]:
    """What an earlier run tried; failures may be tried again, since the machine may differ."""
    found: dict[tuple[str, str], Tried] = {}
    kept = 0
    for record in records:
        if record.get("kind") != "trial":
            continue
        kept += record["decision"] == "kept"
        if record["failure"] in ("oom", "hang", "time"):
            continue
        name = str(record["change"])
        key = name, "search" if name == BATCH else str(record["value"])
        times = found[key].times + 1 if key in found else 1
        found[key] = Tried(record["decision"], kept, times)
    return found
