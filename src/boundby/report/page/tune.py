"""The page of a tuning run: what it reached, every trial, the five questions, the patch."""

from __future__ import annotations

import json
from typing import Any

from boundby.experiment.outcome import Outcome, Record
from boundby.experiment.questions import questions
from boundby.report import sanitize, tune
from boundby.report.page.parts import (
    Block,
    Head,
    Page,
    Panel,
    code,
    heading,
    listing,
    missing,
    named,
    prose,
    table,
    words,
)
from boundby.report.page.trials import Trial, trials_panel
from boundby.report.tune_document import encode
from boundby.report.tune_path import size, title

HEADS = (
    Head("change", "name"),
    *(Head(label, "text") for _field, label in tune.QUESTIONS),
)

TURNS = (
    "The factor multiplies what each kept change gained, timed in turns with the best before it. "
    "The rates are of their own minutes: where their quotient differs by 2%, it makes a range."
)


def tune_page(outcome: Outcome) -> Page:
    """The whole page."""
    charts: dict[str, Any] = {}
    what = sanitize.visible(" ".join((outcome.target, *outcome.arguments)))
    panels = (
        _verdict(outcome),
        trials_panel([_trial(each, outcome) for each in outcome.story], charts),
        Panel(
            "predicted",
            "Predicted and measured",
            (_predictions(outcome),),
            short="Predicted",
            lead=tune.sentence(tune.about_predictions(outcome)),
        ),
        Panel("questions", "Five questions a change", (_answers(outcome),), short="Questions"),
        Panel("patch", "Patch", tuple(_patch(outcome))),
        Panel("notes", "Gates and notes", tuple(_notes(outcome)), short="Notes"),
    )
    document = json.loads(encode(outcome))
    return Page(f"tune: {what}", "tune", panels, charts, document=document)


def _verdict(outcome: Outcome) -> Panel:
    best, baseline = outcome.best, outcome.baseline
    figures = [
        {"name": "throughput", "value": tune.rate(best), "note": f"from {tune.rate(baseline)}"},
        {
            "name": "peak memory",
            "value": size(best["peak_bytes"]),
            "note": f"from {size(baseline['peak_bytes'])}",
        },
        {
            "name": "share of the device's peak (MFU)",
            "value": "unknown" if outcome.mfu is None else f"{outcome.mfu:.0%}",
            "note": tune.spent(outcome),
        },
    ]
    said = [f"{sanitize.shown(tune.where(outcome))}.", f"Ended: {sanitize.shown(outcome.ended)}."]
    if outcome.gain is not None:
        said.append(TURNS)
    said_first = tune.result(outcome)
    head: Block = {"kind": "headline", "words": said, "figures": figures}
    return Panel("verdict", said_first[0].upper() + said_first[1:], (head,), short="Result")


def _trial(record: Record, outcome: Outcome) -> Trial:
    return Trial(
        tune.named(record, outcome),
        record["step_ms"],
        record["peak_bytes"],
        "" if record["kind"] == "baseline" else record["decision"],
        tune.reason(record, outcome),
        record["samples_per_s"],
    )


def _predictions(outcome: Outcome) -> Block:
    return _listed(tune.predictions(outcome), "No trial has a prediction and a measurement.")


def _notes(outcome: Outcome) -> list[Block]:
    return [
        heading("What correctness refused, and what failed"),
        _listed(tune.gate_findings(outcome), f"{tune.none_found(outcome).capitalize()}."),
        heading("Notes"),
        _listed([tune.going_on(outcome), *tune.notes(outcome)], ""),
    ]


def _listed(rows: list[str], otherwise: str) -> Block:
    return listing([sanitize.shown(each) for each in rows]) if rows else missing(otherwise)


def _answers(outcome: Outcome) -> Block:
    rows = [
        (
            named(title({"change": each.change, "value": each.value})),
            *(words(sanitize.shown(getattr(each, field))) for field, _label in tune.QUESTIONS),
        )
        for each in questions(outcome.records)
    ]
    if not rows:
        return missing("No change gave an answer.")
    return table("questions", "Answers in the order of the trials", HEADS, rows)


def _patch(outcome: Outcome) -> list[Block]:
    blocks: list[Block] = []
    for change, text in outcome.patch:
        blocks += [heading(change), code(text)]
    if not blocks:
        blocks.append(missing("Nothing was kept: there is nothing to apply."))
    return [*blocks, prose("Once applied, check it:"), code("\n".join(_verify(outcome)))]


def _verify(outcome: Outcome) -> list[str]:
    about = tune.verify_about(outcome)
    return [*([about] if about else []), *tune.verify(outcome)]
