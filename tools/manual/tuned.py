"""The table of a tuning run on a written page, from the journal that lies with the example."""

from __future__ import annotations

from pathlib import Path

from boundby.experiment.ending import read_outcome
from boundby.report import numbers
from boundby.report.tune import measured_for_today
from boundby.report.tune_path import size, title

JOURNAL = Path(__file__).resolve().parents[2] / "examples/transformer_block/h200/journal.jsonl"
HEADS = ("change", "predicted", "measured", "step", "samples/s", "peak memory", "decision")


def rows() -> list[tuple[str, ...]]:
    """One row a trial; predicted and measured are for the samples that the step had before it."""
    outcome = read_outcome(JOURNAL)
    return [
        (
            title(each),
            _predicted(each["predicted_ms"], each["predicted_by"]),
            numbers.ms(measured_for_today(each, outcome)) if each["step_ms"] else "-",
            numbers.ms(each["step_ms"]) if each["step_ms"] else "-",
            numbers.number(each["samples_per_s"]) if each["samples_per_s"] else "-",
            size(each["peak_bytes"]),
            each["decision"],
        )
        for each in outcome.story
    ]


def _predicted(ms: float | None, by: str | None) -> str:
    return "-" if ms is None else f"{numbers.ms(ms)}, {by}"
