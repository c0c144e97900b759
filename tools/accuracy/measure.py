"""What boundby says about each recording, as the document of ``boundby trace --json``."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from boundby.diagnose import Options, diagnose
from boundby.read import read_recording
from boundby.report.document import document
from tools.accuracy.scoring import Interval
from tools.accuracy.truth import EDIT_OF_TWIN, Truth, TruthSet

Object = dict[str, Any]


class CrashError(Exception):
    """Boundby failed on a recording that has a truth: there is nothing to score."""


@dataclass(frozen=True)
class Result:
    """One recording: its truth, and the documents without and with the measured step told."""

    truth: Truth
    alone: Object
    told: Object

    @property
    def estimate(self) -> float | None:
        """The step without the profiler, from the recording alone, ms."""
        unprofiled = self.alone["steps"]["unprofiled_ms"]
        return unprofiled and unprofiled["estimate"]

    @property
    def range(self) -> Interval | None:
        """Its range."""
        unprofiled = self.alone["steps"]["unprofiled_ms"]
        return unprofiled and (unprofiled["low"], unprofiled["high"])


@dataclass(frozen=True)
class Twin:
    """One cured twin: what was measured, and what was predicted with the measured step told."""

    recording: str
    change: str
    edit: str
    measured: Interval
    predicted: float | None
    range: Interval | None


def measure(truths: TruthSet) -> list[Result]:
    """Diagnose every recording of a set twice.

    Raises:
        CrashError: Boundby failed on some of them; the message has a line for each.
    """
    results, crashes = [], []
    for truth in truths.truths:
        try:
            results.append(_measure_one(truths.folder, truth))
        except Exception as error:  # noqa: BLE001 - all crashes are told at once, not the first
            crashes.append(f"{truth.file}: {type(error).__name__}: {error}")
    if crashes:
        raise CrashError("\n".join(crashes))
    return results


def _measure_one(folder: Path, truth: Truth) -> Result:
    recording = read_recording(folder / truth.file)
    told = Options(step_ms=truth.middle_ms, submit_ms=truth.submit_ms)
    return Result(truth, document(diagnose(recording)), document(diagnose(recording, told)))


def twins_of(result: Result) -> list[Twin]:
    """Every measured twin of a recording, with its prediction or None where there is no edit."""
    said = {row["id"]: row for row in result.told["what_if"]}
    twins = []
    for change, measured in result.truth.twins.items():
        edit = EDIT_OF_TWIN.get(change, change)
        row = said.get(edit)
        predicted = row and row["step_ms"]
        reach = row and (row["low"], row["high"])
        twins.append(Twin(result.truth.name, change, edit, measured, predicted, reach))
    return twins
