"""When to stop, and what a journal says then."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from boundby.errors import CannotTellError
from boundby.experiment.changes import BY_ID
from boundby.experiment.choose import Pick, State, choose
from boundby.experiment.journal import FILE, VERSION, Journal, read_journal
from boundby.experiment.outcome import Outcome, Record, gain_of, pairs_of, patch_of
from boundby.experiment.records import BASELINE
from boundby.experiment.reference import TF32
from boundby.experiment.settings import LEAST_S, Settings
from boundby.experiment.turns import precision_of
from boundby.experiment.values import Configuration, Facts
from boundby.roofline.devices import match_device

UNENDED = "it did not come to its end, or still runs"
PEAK_OF = {"bf16 parameters": "bfloat16"}
TERA = 1e12


@dataclass(frozen=True)
class Outline:
    """What a run says of itself; its records say the rest (see ``Outcome``)."""

    target: str
    arguments: tuple[str, ...]
    facts: Facts
    ended: str
    journal: str
    seconds: float
    notes: tuple[str, ...]
    memory_cap: int | None
    earlier_s: float


class Budget:
    """Minutes and trials of this run."""

    def __init__(self, settings: Settings, now: Callable[[], float]) -> None:
        self.settings = settings
        self.trials = 0
        self.ended = ""
        self._now = now
        self._began = now()

    @property
    def seconds(self) -> float:
        """Spent so far."""
        return self._now() - self._began

    def is_short(self) -> bool:
        """Whether there is no time for another process."""
        minutes = self.settings.minutes
        return minutes is not None and self.seconds + LEAST_S > minutes * 60

    def _left(self) -> float | None:
        minutes = self.settings.minutes
        return None if minutes is None else minutes * 60 - self.seconds

    def next(self, state: State) -> Pick | None:
        """The next trial; None at the end, and then ``ended`` says why."""
        if self.settings.trials is not None and self.trials >= self.settings.trials:
            self.ended = f"no more trials than {self.trials} were asked for"
        elif self.is_short():
            minutes = self.settings.minutes
            self.ended = f"less than {LEAST_S:.0f} s of the {minutes:.3g} minutes are left"
        else:
            found = state.pending or choose(state, self.settings, self._left())
            if found is not None:
                self.trials += 1
                return found
            self.ended = self._why_none(state)
        return None

    def _why_none(self, state: State) -> str:
        """Why there is no next trial: nothing pays, or what does takes longer than is left."""
        found = choose(state, self.settings)
        if found is None:
            return "nothing left is predicted to gain 2%"
        return (
            f"{found.change.title} ({found.value}) is next and takes longer than what is left of "
            f"the {self.settings.minutes:.3g} minutes"
        )


def conclude(journal: Journal, settings: Settings, state: State, budget: Budget) -> Outcome:
    """The outcome of a run, on the numbers of this machine."""
    return outcome_of(
        Outline(
            target=settings.target,
            arguments=settings.arguments,
            facts=state.facts,
            ended=budget.ended,
            journal=str(journal.folder),
            seconds=budget.seconds,
            notes=tuple(journal.notes),
            memory_cap=settings.memory_cap,
            earlier_s=journal.earlier_s,
        ),
        journal.records,
    )


def read_outcome(path: Path) -> Outcome:
    """The outcome that a journal tells by itself: of its last run, whether that ended or not.

    Args:
        path: The file, or its folder.

    Raises:
        CannotTellError: It holds no baseline.
        UsageError: It is no journal.
        OSError: It cannot be read.
    """
    file = path / FILE if path.is_dir() else path
    kept = read_journal(file)
    baselines = [each for each in kept.records if each["kind"] == BASELINE]
    if kept.header is None or not baselines:
        raise CannotTellError(
            f"{file} holds no baseline: {(*kept.notes, 'nothing was measured')[0]}",
            f"boundby tune {kept.header['target'] if kept.header else 'WORKLOAD'}",
        )
    if kept.header["version"] != VERSION:
        raise CannotTellError(
            f"{file} is a journal of version {kept.header['version']}",
            f"read it with the boundby that wrote it; this one knows version {VERSION}",
        )
    return outcome_of(
        Outline(
            target=kept.header["target"],
            arguments=tuple(kept.header["arguments"]),
            facts=facts_in(baselines[-1], kept.programs[-1] if kept.programs else {}),
            ended=kept.ending["why"] if kept.ending else UNENDED,
            journal=str(path),
            seconds=kept.seconds[-1],
            notes=kept.notes,
            memory_cap=kept.header.get("memory_cap"),
            earlier_s=sum(kept.seconds[:-1]),
        ),
        kept.records,
    )


def facts_in(baseline: Record, program: Record) -> Facts:
    """What a journal knows of the program it is of."""
    caliber = dict(baseline.get("caliber") or {})
    return Facts(
        kind=program.get("program", "workload"),
        device_name=caliber.get("device") or "",
        memory_bytes=program.get("memory_bytes"),
        batch=program.get("batch"),
        caliber=caliber,
        flops=program.get("flops"),
        computes=program.get("computes", ""),
    )


def outcome_of(outline: Outline, every: Sequence[Record]) -> Outcome:
    """What the records of a journal add up to, for its last run."""
    records = [each for each in every if each["kind"] != "probe"]
    starts = [at for at, each in enumerate(records) if each["kind"] == BASELINE]
    of_run = records[starts[-1] :]
    best = [each for each in of_run if each["decision"] in (BASELINE, "kept")][-1]
    configuration = pairs_of(best)
    return Outcome(
        **vars(outline),
        records=tuple(every),
        baseline=of_run[0],
        best=best,
        configuration=configuration,
        patch=patch_of(configuration),
        mfu=mfu(outline.facts, configuration, best),
        gain=gain_of(of_run),
        run=tuple(of_run),
    )


def mfu(facts: Facts, configuration: Configuration, record: Record) -> float | None:
    """Operations a second over the peak of the device; None where either is unknown.

    Above 1 the program computes in less than is known of it, as convolutions in TF32: unknown.
    """
    rate, batch = record.get("samples_per_s"), facts.batch
    peaks = match_device(facts.device_name, facts.memory_bytes or 0).ceilings
    is_known = all(change in BY_ID for change, _ in configuration)
    if facts.flops is None or not rate or not batch or peaks is None or not is_known:
        return None
    precision = precision_of(configuration, own_precision(facts))
    peak = peaks.tflops(PEAK_OF.get(precision, precision))
    share = facts.flops / batch * rate / (peak * TERA) if peak else 0.0
    return share if 0.0 < share <= 1.0 else None


def own_precision(facts: Facts) -> str:
    """That of the unchanged program; empty where its journal does not tell."""
    return TF32 if facts.computes == "float32" and facts.has_tf32 else facts.computes
