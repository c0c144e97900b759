"""The unchanged program as judge: its facts, and a reference for each batch size when needed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import msgspec

from boundby.errors import BoundbyError, CannotTellError
from boundby.experiment.process import Process, TrialError
from boundby.experiment.settings import Settings
from boundby.experiment.turns import PRECISIONS
from boundby.experiment.values import BATCH, Configuration, Facts
from boundby.experiment.workload import is_script

REFERENCE_S = 600.0
Reference = tuple[Path, list[list[float]]]
"""Folder of a reference, and losses of the unchanged program, one curve a seed."""


class References:
    """References by batch size.

    Args:
        settings: What is tuned, and how long its loss curves are.
        start: Starts a process of the unchanged program: a batch size as configuration, a seed.
        until: Seconds that a request may take, out of those that it should.

    Attributes:
        known: The facts, once a process told them; None before.
    """

    def __init__(
        self,
        settings: Settings,
        start: Callable[[Configuration, int], Process],
        until: Callable[[float], float],
    ) -> None:
        self._settings, self._start, self._until = settings, start, until
        self._made: dict[int | None, Reference] = {}
        self.known: Facts | None = None

    def facts(self) -> Facts:
        """What is known of the program; the process that tells makes the first reference too.

        Raises:
            BoundbyError: The unchanged program does not run.
        """
        if self.known is None:
            self.at(None)
        assert self.known is not None  # noqa: S101 -- the first reference tells them
        return self.known

    def at(self, size: int | None) -> Reference:
        """The reference for a batch size; None for the program's own.

        Raises:
            TrialError: The unchanged program fails at this size alone.
            BoundbyError: It does not run at its own.
        """
        if size not in self._made:
            try:
                scripted = is_script(self._settings.target)
                self._made[size] = self._of_script() if scripted else self._of_workload(size)
            except TrialError as error:
                if size is not None:
                    text = f"the unchanged program at batch {size}, as judge: {error.message}"
                    raise TrialError(error.kind, text) from None
                raise _unusable(error) from None
        return self._made[size]

    def _of_workload(self, size: int | None) -> Reference:
        settings = self._settings
        allowed = PRECISIONS if "numerics" in settings.allow else ()
        asked = {"steps": settings.steps, "seeds": settings.seeds, "precisions": list(allowed)}
        process = self._start(((BATCH, str(size)),) if size else (), 0)
        try:
            self._learn(process)
            answer = process.ask("reference", self._until(REFERENCE_S), **asked)
        finally:
            process.end()
        return process.folder, answer["losses"]

    def _of_script(self) -> Reference:
        """The script, once with each seed; the first run is the judge."""
        curves: list[list[float]] = []
        folders = []
        for seed in range(self._settings.seeds):
            process = self._start((), seed)
            try:
                self._learn(process)
                limit = self._until(self._settings.trial_s)
                answer = process.ask("keep", limit, steps=self._settings.steps)
            finally:
                process.end()
            curves.append(answer["losses"])
            folders.append(process.folder)
        return folders[0], curves

    def _learn(self, process: Process) -> None:
        """Ask for the facts, once."""
        if self.known is None:
            answer = process.ask("facts", self._until(self._settings.trial_s))
            self.known = msgspec.convert(answer, Facts)


def _unusable(error: TrialError) -> BoundbyError:
    """The unchanged program does not run: that is for the user to mend."""
    said = CannotTellError(
        error.message if error.kind == "input" else f"the unchanged program: {error.message}",
        error.hint or "run it alone first; --verbose and the journal's stderr.txt tell more",
    )
    said.exit_code = error.exit_code
    return said
