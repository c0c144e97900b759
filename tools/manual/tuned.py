"""Tables of tuning runs on written pages, from the journals that lie with the examples."""

from __future__ import annotations

from pathlib import Path

from boundby.experiment.ending import read_outcome
from boundby.experiment.outcome import Record
from boundby.report import numbers
from boundby.report.tune_path import size, title

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
BLOCKS = EXAMPLES / "transformer_block" / "h200"
CAPPED = EXAMPLES / "transformer_block" / "h200_capped"
INFERENCE = EXAMPLES / "small_inference" / "h200"
CONVNET = EXAMPLES / "convnet" / "h200"
HOST = EXAMPLES / "slow_host" / "h200"
KEPT = ("baseline", "kept")
NAMES = {
    "bf16": "bf16",
    "tf32": "TF32",
    "cuda-graph": "CUDA graph",
    "fused-norm": "torch's norms",
    "loader-workers": "loader workers",
    "pinned-copies": "copies ahead",
    "checkpointing": "blocks checkpointed",
    "bf16-weights": "bf16 weights",
    "sdpa": "fused attention",
    "compile-model": "compiled",
    "bf16-params": "bf16 parameters, fp32 masters",
}
HEADS = ("change", "predicted", "measured", "step", "samples/s", "peak memory", "decision")


def rows(journal: Path) -> list[tuple[str, ...]]:
    """One row a trial; predicted and measured are for the samples that the step had before it."""
    outcome = read_outcome(journal)
    return [
        (
            title(each),
            _predicted(each["predicted_ms"], each["predicted_by"]),
            numbers.ms(measured) if (measured := outcome.measured(each)) else "-",
            numbers.ms(each["step_ms"]) if each["step_ms"] else "-",
            numbers.number(each["samples_per_s"]) if each["samples_per_s"] else "-",
            size(each["peak_bytes"]),
            each["decision"],
        )
        for each in outcome.story
    ]


def short(journal: Path) -> list[tuple[str, ...]]:
    """The path alone: a column for the start and each change that was kept."""
    kept = [each for each in read_outcome(journal).story if each["decision"] in KEPT]
    return [
        ("", *map(_name, kept)),
        ("samples/s", *(f"{each['samples_per_s']:.0f}" for each in kept)),
        ("peak memory", *(size(each["peak_bytes"]) for each in kept)),
    ]


def _name(record: Record) -> str:
    if record["change"] == "baseline":
        return f"fp32, batch {record['samples']}"
    name = NAMES.get(record["change"], title(record))
    return f"{name}, batch {record['samples']}" if record["change"] == "checkpointing" else name


def _predicted(ms: float | None, by: str | None) -> str:
    return "-" if ms is None else f"{numbers.ms(ms)}, {by}"
