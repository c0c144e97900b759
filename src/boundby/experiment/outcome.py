"""Records of trials, and what a whole run says: the values that every report formats."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from math import prod
from typing import Any

from boundby.experiment.change import STAGES
from boundby.experiment.changes import BY_ID
from boundby.experiment.choose import Pick
from boundby.experiment.records import BASELINE
from boundby.experiment.values import (
    Configuration,
    Decision,
    Diagnosed,
    Facts,
    Trial,
)

Record = dict[str, Any]
DRIFTED = 1.02
"""Figures of different trials that disagree by as much with the turns make the gain a range: rates
are printed with three digits or more, so a smaller difference hardly shows between them."""


@dataclass(frozen=True)
class Outcome:
    """A run of ``tune``.

    Attributes:
        target: What was tuned, with its arguments.
        records: Every trial of the journal, in order.
        baseline, best: Records of the present machine.
        configuration: Changes that were kept.
        patch: Code that applies them, by change.
        ended: Why it stopped.
        notes: What the reader should know of the journal.
        memory_cap: Bytes of device memory that a step may use; None for all.
        runs: How many runs the journal holds.
        mfu: Share of the device's peak at the end; None where unknown.
        gain: Throughput at the end over that of the baseline; None where nothing was kept.
        earlier_s: Seconds of the runs before the last.
        run: Records of this run alone, probes apart, the baseline first.
    """

    target: str
    arguments: tuple[str, ...]
    facts: Facts
    records: tuple[Record, ...]
    baseline: Record
    best: Record
    configuration: Configuration
    patch: tuple[tuple[str, str], ...]
    ended: str
    journal: str
    seconds: float
    notes: tuple[str, ...] = ()
    memory_cap: int | None = None
    mfu: float | None = None
    gain: float | None = None
    earlier_s: float = 0.0
    run: tuple[Record, ...] = ()

    @property
    def story(self) -> tuple[Record, ...]:
        """The first baseline and every trial of the journal, whichever run made it."""
        first = [each for each in self.records if each["kind"] == "baseline"][:1]
        return (*first, *(each for each in self.records if each["kind"] == "trial"))

    @property
    def runs(self) -> int:
        """How many runs the journal holds."""
        return sum(each["kind"] == "baseline" for each in self.records)

    @property
    def apart(self) -> float | None:
        """The gain by figures of different trials, where it disagrees with that of the turns."""
        before, after = ms_per_sample(self.baseline), ms_per_sample(self.best)
        if not before or not after or self.gain is None:
            return None
        found = before / after
        return found if max(found / self.gain, self.gain / found) >= DRIFTED else None

    @property
    def gain_range(self) -> tuple[float, float] | None:
        """Lowest and highest gain; None where both ways to reckon it agree, or it is unknown."""
        if self.gain is None or self.apart is None:
            return None
        return min(self.gain, self.apart), max(self.gain, self.apart)

    @property
    def drift(self) -> str:
        """Whether the machine changed its speed between trials; empty where it did not."""
        if self.apart is None:
            return ""
        return (
            f"the machine was not equally fast in all trials: by the rates of the first and the "
            f"best the gain is {self.apart:.2f}x, by what was measured in turns, one change after "
            f"the other, {self.gain:.2f}x"
        )

    def beside(self, trial: Record) -> Configuration:
        """What a trial changed beside its own change, against the best before it.

        A repair may bring another attention kernel, a search of checkpointing a batch size.
        """
        before = self.before(trial)
        best = pairs_of(before) if before else ()
        return tuple(
            pair for pair in pairs_of(trial) if pair not in best and pair[0] != trial["change"]
        )

    def before(self, trial: Record) -> Record | None:
        """The record of the best before a trial."""
        best = None
        for each in self.records:
            if each is trial:
                break
            if each["decision"] in (BASELINE, "kept"):
                best = each
        return best

    def measured(self, trial: Record) -> float | None:
        """Step time after a trial's change, ms, for the samples that the step had before it.

        The step before it, times what both took in turns: the same step alone, minutes later, may
        be another on a machine that changes its speed. Where they were not held against each other
        it is the step of the trial.
        """
        before, step, samples = self.before(trial), trial["step_ms"], trial["samples"]
        if before is None or before["step_ms"] is None or step is None:
            return None
        if trial["ratio"]:
            return float(before["step_ms"] * trial["ratio"]["estimate"])
        return float(step * before["samples"] / samples if before["samples"] and samples else step)


def pairs_of(record: Record) -> Configuration:
    """The configuration of a record, as pairs."""
    return tuple((str(name), str(value)) for name, value in record["configuration"])


def ms_per_sample(record: Record) -> float | None:
    """Time of a sample; of a step where samples are unknown."""
    step = record["step_ms"]
    return None if step is None else step / (record["samples"] or 1)


def gain_of(records: Sequence[Record]) -> float | None:
    """Throughput at the end over that of the baseline; None where nothing was kept.

    The product of what was kept, each measured in turns with what it replaced.
    """
    kept = [each["ratio"] for each in records if each["decision"] == "kept"]
    return prod(1.0 / each["estimate"] for each in kept) if kept and all(kept) else None


def path_points(records: Sequence[Record]) -> list[Record]:
    """The path: one plain value a trial, for a picture.

    Returns:
        Dictionaries with ``change``, ``step_ms``, ``samples_per_s``, ``peak_bytes``, ``decision``,
        in the order of the trials; unknown is None.
    """
    keys = ("change", "value", "step_ms", "samples_per_s", "peak_bytes", "decision")
    shown = [each for each in records if each["kind"] in ("baseline", "trial")]
    return [{key: each.get(key) for key in keys} for each in shown]


def record_of(
    kind: str,
    configuration: Configuration,
    found: Trial,
    decision: Decision,
    why: str,
    pick: Pick | None = None,
) -> Record:
    """A trial as it is kept in the journal; unknown is null."""
    gate = found.gate
    return {
        "kind": kind,
        "change": pick.change.id if pick else BASELINE,
        "value": pick.value if pick else None,
        "configuration": [list(pair) for pair in configuration],
        "prescription": pick.change.prescription if pick else None,
        "predicted_ms": pick.predicted_ms if pick else None,
        "predicted_range_ms": pick.prediction.reach if pick else None,
        "predicted_by": pick.prediction.by if pick else None,
        "step_ms": found.step_ms,
        "samples": found.samples,
        "samples_per_s": found.samples_per_s,
        "peak_bytes": found.memory.peak,
        "reserved_bytes": found.memory.reserved,
        "driver_bytes": found.memory.driver,
        "correct": gate.passed if gate else None,
        "gate": asdict(gate) if gate else None,
        "numerics": gate.precision if gate else None,
        "decision": decision,
        "failure": found.failure,
        "why": why,
        "against_ms": found.against_ms,
        "ratio": asdict(found.ratio) if found.ratio else None,
        "effect": found.effect,
        "interleaved": found.interleaved,
        "first_s": found.first_s,
        "compile_s": found.compile_s,
        "seconds": found.seconds,
        "diagnosis": None,
    }


def with_caliber(record: Record, facts: Facts) -> Record:
    """A record with what makes its numbers comparable."""
    caliber = {**facts.caliber, "batch": record["samples"] or facts.batch}
    return {**record, "caliber": {**caliber, "device": facts.device_name}}


def with_diagnosis(record: Record, found: Diagnosed) -> Record:
    """A record with what bounds its configuration."""
    return {**record, "diagnosis": asdict(found)}


def patch_of(configuration: Configuration) -> tuple[tuple[str, str], ...]:
    """The code of each change that was kept, in the order in which they are applied."""
    ordered = sorted(configuration, key=lambda pair: _stage(pair[0]))
    return tuple((change, _code(change, value)) for change, value in ordered)


def _stage(change: str) -> int:
    """When it is applied; an unknown one last."""
    return STAGES.index(BY_ID[change].stage) if change in BY_ID else len(STAGES)


def _code(change: str, value: str) -> str:
    """The code of a change; a comment where the journal is of a version that knew more."""
    try:
        return BY_ID[change].patch(value)
    except LookupError:
        return f"# this version does not know the change {change} {value}"
