"""Changes that ``boundby tune`` tried on a device: predicted against measured, by its journals."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from boundby.experiment.ending import read_outcome
from boundby.experiment.outcome import Outcome
from boundby.report.tune_path import title
from tools.accuracy.markdown import milliseconds, percent, table

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
JOURNALS = "*/*/**/*.jsonl"
HEADS = (
    "program",
    "device",
    "change",
    "predicted by",
    "predicted, ms",
    "its range",
    "measured, ms",
    "error",
)

ABOUT = """\
Every trial of the journals in `examples` that had a prediction and gave a number. Both are a step
with the samples it had before the trial; measured is that step times what both took in turns. A
replay predicts; a guess only orders trials, and is not meant to be right.
"""


@dataclass(frozen=True)
class Tried:
    """One trial.

    Attributes:
        predicted, measured: ms, for the samples of a step before the trial.
        reach: Lowest and highest that was predicted; None for a guess, and in older journals.
    """

    program: str
    device: str
    change: str
    by: str
    predicted: float
    measured: float
    reach: tuple[float, float] | None = None

    @property
    def error(self) -> float:
        """Distance of the prediction, relative to what was measured."""
        return abs(self.predicted / self.measured - 1.0)


def tried(folder: Path = EXAMPLES) -> list[Tried]:
    """The trials of all journals below a folder."""
    return [each for file in sorted(folder.glob(JOURNALS)) for each in _of(file, folder)]


def _of(file: Path, folder: Path) -> Iterator[Tried]:
    outcome = read_outcome(file)
    program = " ".join(file.relative_to(folder).parts[:1])
    for record in outcome.story:
        measured = outcome.measured(record)
        if record["predicted_ms"] and measured:
            yield Tried(
                program,
                _device(outcome),
                title(record),
                record["predicted_by"],
                record["predicted_ms"],
                measured,
                record.get("predicted_range_ms"),
            )


def _device(outcome: Outcome) -> str:
    return f"{outcome.facts.device_name}, torch {outcome.facts.caliber.get('torch', 'unknown')}"


def section(found: list[Tried]) -> list[str]:
    """The table, and what it comes to."""
    rows = [
        (
            each.program,
            each.device,
            each.change,
            each.by,
            milliseconds(each.predicted),
            "-" if each.reach is None else " to ".join(map(milliseconds, each.reach)),
            milliseconds(each.measured),
            percent(each.error),
        )
        for each in found
    ]
    return [ABOUT, *table(HEADS, rows), "", *_in_short(found)]


def _in_short(found: list[Tried]) -> list[str]:
    lines = []
    for by in ("replay", "guess"):
        errors = [each.error for each in found if each.by == by]
        if errors:
            said = f"{percent(median(errors))} (median), {percent(max(errors))} (worst)"
            lines.append(f"By {by}: {len(errors)} trials, error {said}.")
    return ["  \n".join(lines)] if lines else []
