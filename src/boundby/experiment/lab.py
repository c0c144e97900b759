"""Where trials happen: processes, the reference of each batch size, measurements in turns."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Any, Protocol

import msgspec

from boundby.bench.compare import judge_pairs
from boundby.capture.launch import environment_of
from boundby.capture.plan import Plan
from boundby.errors import BoundbyError
from boundby.experiment.changes import BY_ID
from boundby.experiment.diagnosing import diagnose_run, diagnose_trace
from boundby.experiment.journal import Journal
from boundby.experiment.process import Process, TrialError
from boundby.experiment.referring import Reference, References
from boundby.experiment.settings import LEAST_S, MEMORY_SHARE, Settings
from boundby.experiment.turns import (
    PAIRS,
    Side,
    block,
    in_turns,
    precision_of,
    sample,
    timed,
)
from boundby.experiment.values import (
    BATCH,
    Configuration,
    Diagnosed,
    Facts,
    Gate,
    Memory,
    Trial,
    value_of,
)
from boundby.experiment.wire import Request
from boundby.experiment.workload import is_script
from boundby.statistics import judge, separate_ratio

RECORD = Plan(passes=("clean", "trace"), stop=True, memory=False)
RECORDING = "recording"
"""How an unchanged script is observed between trials, and where that is kept in its folder."""


class Lab(Protocol):
    """What the loop asks for; tests bring one with a fake clock and fake numbers."""

    def now(self) -> float:
        """Seconds of a clock that does not go back."""

    def facts(self) -> Facts:
        """What is known of the unchanged program."""

    def trial(self, configuration: Configuration, best: Configuration | None) -> Trial:
        """Gate a configuration, and measure it in turns with the best so far."""

    def keep(self) -> None:
        """The last candidate is the best from now on."""

    def drop(self) -> None:
        """The last candidate is not."""

    def probe(self, configuration: Configuration) -> Trial:
        """A few steps in a process of its own; nothing is gated."""

    def diagnose(self, configuration: Configuration) -> Diagnosed:
        """What bounds a configuration."""

    def close(self) -> None:
        """End every process."""


class ProcessLab:
    """Trials in processes of this machine.

    Args:
        settings: What to run and for how long.
        journal: In whose folder processes write.
    """

    def __init__(self, settings: Settings, journal: Journal) -> None:
        self._settings, self._journal = settings, journal
        minutes = settings.minutes
        self._deadline = None if minutes is None else self.now() + 60 * minutes
        self._references = References(settings, self._unchanged, self._until)
        self._best: Process | None = None
        self._candidate: Process | None = None
        self._alone = False
        self._samples: list[float] = []
        self._taken: list[float] = []

    def now(self) -> float:
        """Seconds of the system's monotonic clock."""
        return time.monotonic()

    def facts(self) -> Facts:
        """What is known of the unchanged program; its process makes the first reference too.

        Raises:
            BoundbyError: It does not run.
        """
        return self._references.facts()

    def trial(self, configuration: Configuration, best: Configuration | None) -> Trial:
        """Gate a configuration, and measure it in turns with the best so far.

        Its seconds are those of its own process: a reference for another batch size is made once.
        """
        began = self.now()
        try:
            known = self._references.at(self._size_of(configuration))
            began = self.now()
            found = self._trial(configuration, best, known)
        except TrialError as error:
            if error.kind == "oom" and self._best is not None and best is not None:
                self.drop()
                self._park()  # the best holds memory too: once more, alone
                self._alone = True
                return self.trial(configuration, best)
            found = Trial(error.kind, error.message, hint=error.hint or "")
            if error.kind == "hang" and self._is_spent():
                found = Trial("time")
        self._alone = False
        return replace(found, seconds=self.now() - began)

    def _trial(
        self,
        configuration: Configuration,
        best: Configuration | None,
        known: Reference,
    ) -> Trial:
        reference, curves = known
        process = self._candidate = self._open(configuration, "trial")
        limit = self._limit(configuration)
        asked = {"reference": str(reference), "precision": precision_of(configuration)}
        more = {"others": curves[1:]} if self._is_script else {}
        answer = process.ask("gate", limit, steps=self._settings.steps, **asked, **more)
        if value_of(configuration, "compile-model") and not answer["frames"]:
            raise TrialError("compile", "nothing was compiled")
        gate = _gate(answer["gate"])
        if gate.passed and value_of(configuration, "sdpa") and not self._is_script:
            gate = _with_layouts(gate, process.ask("layouts", limit)["layouts"])
        found = Trial(
            gate=gate,
            samples=self._samples_of(configuration),
            memory=Memory(**answer["memory"]),
            first_s=answer["first_s"],
            compile_s=answer["compile_s"],
        )
        if not gate.passed:
            return found
        return self._measured(found, process, best, limit)

    def _measured(
        self, found: Trial, process: Process, best: Configuration | None, limit: float
    ) -> Trial:
        """Time a gated candidate: alone, in turns with the best, or after it."""
        count = block(process.ask("warm", limit)["step_ns"])
        side: Side = process, count, found.samples or 1
        if best is None or (self._alone and self._samples):
            return self._apart(found, side, limit)
        try:
            taken = self._turns(side, best, limit)
        except TrialError as error:
            if error.kind != "oom" or process.is_over or not self._samples:
                raise
            self._park()  # no room for both: the best is what it was when it was measured last
            return self._apart(found, side, limit)
        self._taken = taken[0]
        compared = judge_pairs(*taken)
        return replace(
            timed(found, taken[0], side[2]),
            ratio=compared.clocks[0].ratio,
            effect=compared.effect,
            against_ms=median(taken[1]) * (self._samples_of(best) or 1) / 1e6,
            interleaved=True,
        )

    def _apart(self, found: Trial, side: Side, limit: float) -> Trial:
        """Time a candidate alone, and hold it against what the best took when it was measured."""
        process, count, each = side
        self._taken = [sample(process, count, each, limit) for _ in range(PAIRS)]
        alone = timed(found, self._taken, each)
        if not self._samples:
            return alone
        ratio = separate_ratio(self._taken, self._samples)
        return replace(alone, ratio=ratio, effect=judge(ratio, 1e6))

    def _turns(
        self, side: Side, best: Configuration, limit: float, *, again: bool = True
    ) -> tuple[list[float], list[float]]:
        """Blocks of the candidate and the best; a best that has ended meanwhile starts again.

        Raises:
            TrialError: Either failed; of kind ``oom`` also where both do not fit.
        """
        if self._best is None:
            self._best = self._open(best, "best")
            self._best.ask("warm", self._limit(best))
        try:
            count = block(self._best.ask("warm", limit)["step_ns"])
            return in_turns((side, (self._best, count, self._samples_of(best) or 1)), limit)
        except TrialError as error:
            if error.kind == "oom" or not self._best.is_over or not again:
                raise
            self._park()
            return self._turns(side, best, limit, again=False)

    def keep(self) -> None:
        """The last candidate is the best from now on; its process goes on."""
        if self._candidate is None:
            return
        if self._best is not None:
            self._best.end()
        self._best, self._candidate = self._candidate, None
        self._samples = self._taken

    def drop(self) -> None:
        """End the last candidate."""
        if self._candidate is not None:
            self._candidate.end()
            self._candidate = None

    def probe(self, configuration: Configuration) -> Trial:
        """A few steps in a process of its own, alone on the device."""
        began = self.now()
        self._park()
        try:
            process = self._open(configuration, "probe")
            try:
                answer = process.ask("warm", self._limit(configuration))
            finally:
                process.end()
        except TrialError as error:
            return Trial(error.kind, error.message, seconds=self.now() - began)
        return Trial(
            step_ms=answer["step_ns"] / 1e6,
            samples=answer["samples"],
            memory=Memory(**answer["memory"]),
            first_s=answer["first_s"],
            compile_s=answer["compile_s"],
            seconds=self.now() - began,
        )

    def diagnose(self, configuration: Configuration) -> Diagnosed:
        """Record some steps in a process of its own and say what bounds them."""
        if not self.facts().on_cuda:
            return Diagnosed(reason="no device: a recording of a CPU alone carries no verdict")
        return self.recorded(configuration)

    def recorded(self, configuration: Configuration) -> Diagnosed:
        """The diagnosis of a recording; undecided with the reason where there is none."""
        try:
            return self._recorded(configuration)
        except TrialError as error:
            if error.kind == "oom" and self._best is not None:
                self._park()  # the best holds memory too: once more, alone
                return self.recorded(configuration)
            return Diagnosed(reason=f"no recording: {error.message}")
        except BoundbyError as error:
            return Diagnosed(reason=f"no recording: {error.message}")

    def _recorded(self, configuration: Configuration) -> Diagnosed:
        process = self._open(configuration, "trace", observed=self._is_script)
        try:
            if self._is_script:
                process.wait(self._limit(configuration))
                return diagnose_run(process.folder / RECORDING)
            answer = process.ask("trace", self._limit(configuration))
            return diagnose_trace(answer["trace"], answer["step_ms"], answer["submit_ms"])
        finally:
            process.end()

    def close(self) -> None:
        """End every process."""
        self.drop()
        self._park()

    @property
    def _is_script(self) -> bool:
        return is_script(self._settings.target)

    def _park(self) -> None:
        """End the process of the best; its samples stand in until it is needed again."""
        if self._best is not None:
            self._best.end()
            self._best = None

    def _unchanged(self, configuration: Configuration, seed: int) -> Process:
        """The judge: with all the memory there is."""
        return self._open(configuration, "reference", seed, capped=False)

    def _open(
        self,
        configuration: Configuration,
        name: str,
        seed: int = 0,
        *,
        observed: bool = False,
        capped: bool = True,
    ) -> Process:
        cap = self._settings.memory_cap if capped else None
        request = Request(
            target=self._settings.target,
            folder=str(self._journal.trial_folder(name)),
            arguments=self._settings.arguments,
            changes=tuple(pair for pair in configuration if pair[0] != BATCH),
            size=self._size_of(configuration),
            seed=seed,
            memory_cap=cap,
            observed=observed,
        )
        variables: dict[str, str] = {}
        if observed:
            variables |= environment_of(RECORD, Path(request.folder) / RECORDING)
        for change, value in configuration:
            make = BY_ID[change].environment
            variables |= make(value) if make else {}
        return Process(request, variables, self._host_cap(cap))

    def _host_cap(self, cap: int | None) -> int | None:
        """Resident bytes of a process: all memory is the host's where there is no device."""
        facts = self._references.known
        if facts is None or facts.on_cuda:
            return None
        most = facts.memory_bytes
        if cap is not None:
            return cap
        return None if most is None else int(MEMORY_SHARE * most)

    def _is_spent(self) -> bool:
        """Whether the minutes of this run are over, or nearly."""
        return self._deadline is not None and self.now() > self._deadline - LEAST_S

    def _size_of(self, configuration: Configuration) -> int | None:
        size = value_of(configuration, BATCH)
        return int(size) if size else None

    def _samples_of(self, configuration: Configuration) -> int | None:
        return self._size_of(configuration) or self.facts().batch

    def _limit(self, configuration: Configuration) -> float:
        """Seconds that a request may take."""
        slow = sum(BY_ID[change].extra_s(value) for change, value in configuration)
        return self._until(self._settings.trial_s + slow)

    def _until(self, limit: float) -> float:
        """Seconds, but no longer than this run may take."""
        if self._deadline is None:
            return limit
        return max(min(limit, self._deadline - self.now()), LEAST_S)


def _gate(fields: dict[str, Any]) -> Gate:
    return msgspec.convert(fields, Gate)


def _with_layouts(gate: Gate, layouts: str) -> Gate:
    failed, checked = layouts.startswith("fail"), layouts.startswith(("fail", "pass"))
    notes = gate.notes if checked else (*gate.notes, f"attention over layouts: {layouts}")
    return replace(gate, layouts=layouts, passed=bool(gate.passed) and not failed, notes=notes)
