"""Score boundby against recordings whose truth was measured: ``python -m tools.accuracy [FOLDER]``.

FOLDER holds ``traces/truth.jsonl`` and the recordings it names: one JSON object a line, with the
step measured without the profiler (``step_ms``), the step under it (``profiled_ms``), the classes
that count as right (``accept``) and the measured step of cured twins (``cured_ms``). Prints a
Markdown table.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import median, quantiles
from typing import Any

WHAT_IF_OF_CURE = {
    "no_launch": "no_submit_cost",
    "no_sync": "no_sync",
    "no_python": "no_python",
    "no_data": "no_data_wait",
    "fused_optimizer": "fused_optimizer",
}
"""Cured twins that one edit of the replay describes; the others change the kernels themselves."""

ENOUGH_FOR_P90 = 10
"""Below this many values the ninth decile is the maximum in all but name."""


@dataclass(frozen=True)
class Score:
    """How one recording fared. Errors are relative, 0.02 is 2%; None where boundby did not say."""

    file: str
    accept: tuple[str, ...]
    found: str
    drained_error: float | None = None
    step_error: float | None = None
    range_holds_step: bool = False
    what_if_error: tuple[tuple[str, float], ...] = ()

    @property
    def is_accepted(self) -> bool:
        """Whether the class is among those that count as right."""
        return self.found in self.accept


def diagnose(recording: Path, step_ms: float | None) -> dict[str, Any] | None:
    """The JSON document of ``boundby trace``, or None when the command fails."""
    command = [sys.executable, "-m", "boundby", "trace", str(recording), "--json"]
    if step_ms is not None:
        command += ["--step-ms", str(step_ms)]
    done = subprocess.run(command, capture_output=True, check=False)
    return json.loads(done.stdout) if done.returncode == 0 else None


def distance(value: float, low: float, high: float) -> float:
    """How far a value lies outside [low, high], relative to the nearer end; 0 inside."""
    if value < low:
        return 1 - value / low
    return max(0.0, value / high - 1)


def score(truth: dict[str, Any], document: dict[str, Any] | None) -> Score:
    """Compare one document with its truth."""
    accept = tuple(truth["accept"])
    if document is None:
        return Score(truth["file"], accept, "failed")
    low, high = truth["step_ms"]
    steps, unprofiled = document["steps"], document["steps"]["unprofiled_ms"]
    drained, estimate = steps["drained_ms"], unprofiled["estimate"]
    return Score(
        file=truth["file"],
        accept=accept,
        found=document["verdict"]["class"],
        drained_error=None if drained is None else abs(drained / truth["profiled_ms"] - 1),
        step_error=None if estimate is None else distance(estimate, low, high),
        range_holds_step=estimate is not None
        and unprofiled["low"] <= high
        and unprofiled["high"] >= low,
        what_if_error=tuple(what_if_errors(truth["cured_ms"], document["what_if"])),
    )


def what_if_errors(
    cured_ms: dict[str, float], what_if: list[dict[str, Any]]
) -> Iterator[tuple[str, float]]:
    """The relative error of each predicted step that has a measured twin."""
    predicted = {row["id"]: row["step_ms"] for row in what_if}
    for cure, measured in cured_ms.items():
        edit = WHAT_IF_OF_CURE.get(cure)
        if edit is not None and predicted.get(edit) is not None:
            yield edit, abs(predicted[edit] / measured - 1)


def spread(errors: Iterable[float | None]) -> str:
    """Median, ninth decile and maximum in words."""
    values = [error for error in errors if error is not None]
    if not values:
        return "not said"
    ninth = f", p90 {quantiles(values, n=10)[8]:.1%}" if len(values) >= ENOUGH_FOR_P90 else ""
    return f"median {median(values):.1%}{ninth}, worst {max(values):.1%} (n = {len(values)})"


def table(scores: list[Score]) -> Iterator[str]:
    """The result as Markdown, then one line for each verdict that does not count as right."""
    total = len(scores)
    yield "| question | result |"
    yield "| --- | --- |"
    yield f"| class counts as right | {sum(s.is_accepted for s in scores)} of {total} |"
    yield f"| drained step against the profiled | {spread(s.drained_error for s in scores)} |"
    yield f"| unprofiled step against the measured | {spread(s.step_error for s in scores)} |"
    yield f"| its range meets the measured | {sum(s.range_holds_step for s in scores)} of {total} |"
    for edit in dict.fromkeys(WHAT_IF_OF_CURE.values()):
        errors = [error for s in scores for name, error in s.what_if_error if name == edit]
        yield f"| {edit} against the cured twin | {spread(errors)} |"
    for s in scores:
        if not s.is_accepted:
            yield f"\n{s.file}: {s.found}, expected {' or '.join(s.accept)}"


def main() -> int:
    """Score every recording that truth.jsonl names; 1 when one of them could not be read."""
    parser = argparse.ArgumentParser(prog="python -m tools.accuracy")
    parser.add_argument("folder", nargs="?", default=os.environ.get("BOUNDBY_SHARED", "../shared"))
    parser.add_argument(
        "--with-step-ms", action="store_true", help="also tell boundby the measured step"
    )
    arguments = parser.parse_args()
    traces = Path(arguments.folder) / "traces"
    if not (traces / "truth.jsonl").is_file():
        parser.error(f"no traces/truth.jsonl in {arguments.folder}; name the folder that has it")
    scores = []
    for line in (traces / "truth.jsonl").read_text("utf-8").splitlines():
        truth = json.loads(line)
        step_ms = sum(truth["step_ms"]) / 2 if arguments.with_step_ms else None
        scores.append(score(truth, diagnose(traces / truth["file"], step_ms)))
    print("\n".join(table(scores)))
    return int(any(s.found == "failed" for s in scores))


if __name__ == "__main__":
    sys.exit(main())
