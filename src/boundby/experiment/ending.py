"""When to stop, and what to say then."""

from __future__ import annotations

from collections.abc import Callable

from boundby.experiment.choose import Pick, State, choose
from boundby.experiment.journal import Journal
from boundby.experiment.outcome import Outcome, Record, gain_of, patch_of
from boundby.experiment.settings import LEAST_S, Settings
from boundby.experiment.turns import precision_of
from boundby.experiment.values import Configuration, Facts
from boundby.roofline.devices import match_device

PEAK_OF = {"bf16 parameters": "bfloat16"}
TERA = 1e12


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
            self.ended = f"the {self.settings.minutes:g} minutes are spent"
        else:
            found = state.pending or choose(state, self.settings, self._left())
            if found is not None:
                self.trials += 1
                return found
            self.ended = "nothing left is predicted to gain 2%"
        return None


def conclude(journal: Journal, settings: Settings, state: State, budget: Budget) -> Outcome:
    """The outcome of a run, on the numbers of this machine."""
    records = [each for each in journal.records if each["kind"] != "probe"]
    starts = [at for at, each in enumerate(records) if each["kind"] == "baseline"]
    of_run = records[starts[-1] :]
    kept = [each for each in of_run if each["decision"] in ("baseline", "kept")]
    return Outcome(
        target=settings.target,
        arguments=settings.arguments,
        facts=state.facts,
        records=tuple(journal.records),
        baseline=of_run[0],
        best=kept[-1],
        configuration=state.best,
        patch=patch_of(state.best),
        ended=budget.ended,
        journal=str(journal.folder),
        seconds=budget.seconds,
        notes=tuple(journal.notes),
        mfu=mfu(state.facts, state.best, kept[-1]),
        gain=gain_of(of_run),
        run=tuple(of_run),
    )


def mfu(facts: Facts, configuration: Configuration, record: Record) -> float | None:
    """Operations a second over the peak of the device; None where either is unknown."""
    rate, batch = record.get("samples_per_s"), facts.batch
    peaks = match_device(facts.device_name, facts.memory_bytes or 0).ceilings
    if facts.flops is None or not rate or not batch or peaks is None:
        return None
    precision = precision_of(configuration)
    peak = peaks.tflops(PEAK_OF.get(precision, precision))
    return facts.flops / batch * rate / (peak * TERA) if peak else None
