"""The table of a tuning run on a written page, from the journal that lies with the example."""

from __future__ import annotations

from pathlib import Path

from boundby.experiment.ending import read_outcome
from boundby.report import numbers
from boundby.report.tune import measured_for_today
from boundby.report.tune_path import size, title

JOURNAL = Path(__file__).resolve().parents[2] / "examples/transformer_block/h200/journal.jsonl"
KEPT = ("baseline", "kept")
NAMES = {
    "baseline": "fp32, batch 8",
    "bf16": "bf16",
    "sdpa": "fused attention",
    "compile-model": "compiled",
    "bf16-params": "bf16 parameters, fp32 masters",
}
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


def short() -> list[tuple[str, ...]]:
    """The path alone: a column for the start and each change that was kept."""
    kept = [each for each in read_outcome(JOURNAL).story if each["decision"] in KEPT]
    return [
        ("", *(NAMES.get(each["change"], title(each)) for each in kept)),
        ("samples/s", *(f"{each['samples_per_s']:.0f}" for each in kept)),
        ("peak memory", *(size(each["peak_bytes"]) for each in kept)),
    ]


def _predicted(ms: float | None, by: str | None) -> str:
    return "-" if ms is None else f"{numbers.ms(ms)}, {by}"
