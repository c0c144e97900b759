"""A tuning run as Markdown."""

from __future__ import annotations

from boundby.experiment.outcome import Outcome, path_points
from boundby.experiment.questions import questions
from boundby.report import numbers, tune
from boundby.report.tune_path import size, title

PATH_HEADS = ("change", "decision", "step", "samples/s", "peak memory")
QUESTION_HEADS = ("change", "saves", "memory", "numerics", "shapes", "start-up")


def render(outcome: Outcome) -> str:
    """The whole report, ending in a newline."""
    lines = [
        f"# {tune.result(outcome)}",
        "",
        f"{tune.where(outcome)}; {tune.spent(outcome)}: {outcome.ended}.",
        "",
    ]
    cost = tune.cost(outcome)
    lines += [f"{cost[0].upper()}{cost[1:]}.", ""]
    lines += ["## Path", "", *_table(PATH_HEADS, _path(outcome)), ""]
    for name, about, items in (
        ("Why", "", tune.reasons(outcome)),
        ("Predicted and measured", tune.about_predictions(outcome), tune.predictions(outcome)),
        ("Gates", "", tune.gate_findings(outcome)),
        ("Notes", "", tune.notes(outcome)),
    ):
        lines += _listed(name, about, items)
    rows: list[tuple[str, ...]] = [
        (title({"change": q.change, "value": q.value}), q.saves, q.memory, q.numerics, q.shapes,
         q.startup)
        for q in questions(outcome.records)
    ]  # fmt: skip
    if rows:
        lines += ["## Five questions", "", *_table(QUESTION_HEADS, rows), ""]
    if outcome.patch:
        code = [f"# {change}\n{text}\n" for change, text in outcome.patch]
        lines += ["## Patch", "", "```python", *code, "```", ""]
    about = tune.verify_about(outcome)
    lines += ["## Verify", "", "```console", *([about] if about else [])]
    lines += [*(f"$ {c}" for c in tune.verify(outcome)), "```"]
    return "\n".join(lines) + "\n"


def _listed(name: str, about: str, items: list[str]) -> list[str]:
    """A section that is a list, with a sentence about all of it; none without items."""
    if not items:
        return []
    said = [tune.sentence(about), ""] if about else []
    return [f"## {name}", "", *said, *(f"- {each}" for each in items), ""]


def _path(outcome: Outcome) -> list[tuple[str, ...]]:
    return [
        (
            title(each),
            each["decision"],
            numbers.ms(each["step_ms"]),
            numbers.number(each["samples_per_s"]),
            size(each["peak_bytes"]),
        )
        for each in path_points(outcome.story)
    ]


def _table(heads: tuple[str, ...], rows: list[tuple[str, ...]]) -> list[str]:
    cells = [[cell.replace("|", "\\|") for cell in row] for row in rows]
    lines = ["| " + " | ".join(heads) + " |", "|" + " --- |" * len(heads)]
    return [*lines, *("| " + " | ".join(row) + " |" for row in cells)]
