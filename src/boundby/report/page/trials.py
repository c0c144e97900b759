"""Changes that were tried: step time and peak memory of each trial, out of plain values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from boundby.evidence.words import unit_for
from boundby.memory.facts import GIB, size_text
from boundby.report import numbers, sanitize
from boundby.report.page.parts import (
    Block,
    Head,
    Panel,
    bars_height,
    chart,
    columns,
    figure,
    heading,
    missing,
    named,
    table,
    words,
)

HEADS = (
    Head("trial", "name"),
    Head("step"),
    Head("samples/s"),
    Head("peak memory"),
    Head("decision", "text"),
    Head("why", "text"),
)
KEPT = ("", "kept")
"""Decisions of what stays: the program as it was, and the changes that are in force."""


@dataclass(frozen=True)
class Trial:
    """One trial, in the order they were made.

    Attributes:
        name: The change; the first is usually the program as it was.
        step_ms: Measured step; None where it was not measured.
        peak_bytes: Most device memory in use; None where it was not measured.
        decision: ``kept``, ``reverted`` and the like; empty where that is no question.
        why: Why, in a sentence.
        samples_per_s: Measured throughput; None where it was not measured.
    """

    name: str
    step_ms: float | None
    peak_bytes: int | None
    decision: str = ""
    why: str = ""
    samples_per_s: float | None = None


def trials_panel(trials: Sequence[Trial], charts: dict[str, Any]) -> Panel:
    """Both charts and the table; what the charts draw is added to ``charts``."""
    title = "What was tried"
    if not trials:
        reason = missing("No trials: no change was tried.")
        return Panel("trials", title, (reason,), short="Trials")
    longest = max((each.step_ms for each in trials if each.step_ms is not None), default=0.0)
    unit, size = unit_for(longest)

    def told(value: float) -> str:
        return numbers.ms(value * size, longest)

    step = _bars("trial-steps", trials, lambda t: _over(t.step_ms, size), f"{unit} a step", told)
    peak = _bars(
        "trial-memory",
        trials,
        lambda t: _over(t.peak_bytes, GIB),
        "GiB at the peak",
        lambda value: size_text(value * GIB),
    )
    rate = _bars(
        "trial-rate",
        trials,
        lambda t: t.samples_per_s,
        "samples a second",
        lambda value: f"{numbers.number(value)}/s",
    )
    drawn = [("Step time", step), ("Peak memory", peak)]
    drawn += [("Throughput", rate)] if rate[1] is not None else []
    blocks = []
    for name, (identity, spec) in drawn:
        if spec is None:
            blocks.append([heading(name), missing(f"{name}: no trial measured it.")])
            continue
        charts[identity] = spec
        label = f"{name} of each trial"
        blocks.append([heading(name), chart(identity, label, bars_height(spec["rows"]))])
    return Panel("trials", title, (columns(*blocks), _table(trials)), short="Trials")


def _over(value: float | None, size: float) -> float | None:
    return None if value is None else value / size


def _bars(
    identity: str,
    trials: Sequence[Trial],
    value_of: Callable[[Trial], float | None],
    axis: str,
    told: Callable[[float], str],
) -> tuple[str, dict[str, Any] | None]:
    """Bars of what was measured; None where nothing was."""
    rows = []
    for number, trial in enumerate(trials, 1):
        value = value_of(trial)
        if value is None:
            continue
        mark = f"  {trial.decision}" if trial.decision else ""
        rows.append(
            {
                "name": f"{number}. {sanitize.shown(trial.name)}",
                "size": value,
                "group": "step" if trial.decision in KEPT else "other",
                "text": f"{told(value)}{mark}",
                "hint": sanitize.shown(trial.why),
            }
        )
    return identity, {"kind": "bars", "axis": axis, "rows": rows} if rows else None


def _table(trials: Sequence[Trial]) -> Block:
    rows = [
        (
            named(trial.name),
            figure(trial.step_ms, numbers.ms(trial.step_ms)),
            figure(trial.samples_per_s, numbers.number(trial.samples_per_s)),
            figure(
                trial.peak_bytes, "" if trial.peak_bytes is None else size_text(trial.peak_bytes)
            ),
            words(trial.decision or "-"),
            words(sanitize.shown(trial.why)),
        )
        for trial in trials
    ]
    return table("trials", "Trials in their order", HEADS, rows)
