"""What a tuning run found, as text: the result, the path, the answers, the patch."""

from __future__ import annotations

import shlex

from boundby.experiment.outcome import DRIFTED, Outcome, Record, path_points
from boundby.experiment.questions import questions
from boundby.report import numbers, sanitize
from boundby.report.layout import (
    BLANK,
    LABEL_WIDTH,
    Line,
    Space,
    Span,
    entry,
    line,
    paragraph,
    plural,
    section,
)
from boundby.report.terminal import Look, draw
from boundby.report.text import BLOCK, SLIVER
from boundby.report.tune_path import GIB, picture, size, title

CUT = "time"
"""Failure of a trial that the end of the minutes cut: no finding of a gate."""
QUESTIONS = (
    ("saves", "saves"),
    ("memory", "more memory?"),
    ("numerics", "numerics?"),
    ("shapes", "some shapes?"),
    ("startup", "start-up?"),
)


def render(outcome: Outcome, look: Look) -> str:
    """The report, ending in a newline."""
    width = look.width - LABEL_WIDTH
    space = Space(width, detail=look.detail)
    if look.unicode:
        space = Space(width, BLOCK, SLIVER, look.detail)
    groups = [
        _head(outcome, width),
        section("path", picture(path_points(outcome.story), space)),
        section("why", [row for each in reasons(outcome) for row in paragraph(each, width)]),
        section("predicted", _predictions(outcome, width)),
        section("gates", _gates(outcome, width)),
        section("questions", _questions(outcome, width)),
        section("patch", _patch(outcome)),
        section("verify", _verify(outcome)),
        section("journal", paragraph(going_on(outcome), width, "dim")),
        section("notes", [row for each in notes(outcome) for row in paragraph(each, width, "dim")]),
    ]
    lines: list[Line] = []
    for group in filter(None, groups):
        lines += [BLANK, *group] if lines else group
    return draw(lines, look)


def result(outcome: Outcome) -> str:
    """The result in one sentence."""
    before, after = outcome.baseline, outcome.best
    if outcome.gain is None:
        return f"nothing that was tried is surely faster than {rate(before)}"
    times = " to ".join(f"{each:.2f}" for each in outcome.gain_range or (outcome.gain,))
    return f"{times}x the throughput: {rate(before)} -> {rate(after)}"


def cost(outcome: Outcome) -> str:
    """Peak memory before and after, and the share of the device's peak at the end."""
    peaks = (size(each["peak_bytes"]) for each in (outcome.baseline, outcome.best))
    used = f"; MFU {outcome.mfu:.0%}" if outcome.mfu is not None else ""
    return f"peak memory {' -> '.join(peaks)}{used}"


def rate(record: Record) -> str:
    """Samples a second; the step time where samples are unknown."""
    if record["samples_per_s"] is not None:
        return numbers.quantity(record["samples_per_s"], "samples/s")
    return numbers.ms(record["step_ms"])


def spent(outcome: Outcome) -> str:
    """Trials and minutes of the run; of all runs too where the journal holds several."""
    trials = sum(each["kind"] == "trial" for each in outcome.run)
    said = f"{plural(trials, 'trial')} in {outcome.seconds / 60:.1f} minutes"
    if outcome.runs <= 1:
        return said
    every = sum(each["kind"] == "trial" for each in outcome.records)
    minutes = (outcome.earlier_s + outcome.seconds) / 60
    whole = f"{plural(every, 'trial')} in {minutes:.1f} minutes"
    return f"{said}, in the last of {outcome.runs} runs ({whole} in all)"


def verify(outcome: Outcome) -> list[str]:
    """Commands that check the patch once it was applied."""
    whole = sanitize.visible(shlex.join((outcome.target, *outcome.arguments)))
    if outcome.facts.kind == "script":
        return [f"boundby run {whole}", f"boundby tune --journal after {whole}"]
    cap = "" if outcome.memory_cap is None else f"--memory-cap {outcome.memory_cap / GIB:g} "
    return [f"boundby tune {cap}{whole} --trials 0"]


def verify_about(outcome: Outcome) -> str:
    """A comment that says what the commands show; empty where they say it themselves."""
    return "" if outcome.facts.kind == "script" else "# once applied: its baseline"


def going_on(outcome: Outcome) -> str:
    """Where the journal is, and how to go on from it."""
    folder = sanitize.visible(outcome.journal)
    return f"{folder}: the same command with --journal {folder} goes on from here"


def where(outcome: Outcome) -> str:
    """Device, versions, and the memory cap where one was set."""
    caliber = outcome.facts.caliber
    parts = [outcome.facts.device_name]
    parts.append(f"torch {caliber['torch']}" if caliber.get("torch") else "")
    parts.append(f"CUDA {caliber['cuda']}" if caliber.get("cuda") else "")
    cap = outcome.memory_cap
    parts.append("" if cap is None else f"{size(cap)} for a step at most")
    return ", ".join(part for part in parts if part)


def predictions(outcome: Outcome) -> list[str]:
    """Predicted and measured step time of every trial that has both, per sample of today."""
    return [
        f"{title(each)}: {_predicted(each)}, measured {numbers.ms(outcome.measured(each))}"
        for each in both(outcome)
    ]


def about_predictions(outcome: Outcome) -> str:
    """What both figures are of; empty where there are none."""
    every = both(outcome)
    if not every:
        return ""
    pairs = [(each, outcome.before(each)) for each in every]
    if any(before and each["samples"] != before["samples"] for each, before in pairs):
        return "both for the samples that a step had before the change; measured in turns with it"
    return "measured in turns with the step before the change"


def sentence(text: str) -> str:
    """With a capital and a full stop; nothing stays nothing."""
    return f"{text[0].upper()}{text[1:]}." if text else ""


def both(outcome: Outcome) -> list[Record]:
    """Trials with a prediction and a measurement."""
    trials = (each for each in outcome.story if each["kind"] == "trial")
    return [each for each in trials if each["predicted_ms"] and outcome.measured(each)]


def reasons(outcome: Outcome) -> list[str]:
    """Why each trial was kept or reverted, or that the end of the minutes cut it."""
    return [
        sanitize.visible(f"{named(each, outcome)}: {each['decision']}, {reason(each, outcome)}")
        for each in outcome.story
        if each["decision"] in ("kept", "reverted") or each["failure"] == CUT
    ]


def reason(record: Record, outcome: Outcome) -> str:
    """Why a trial was decided so; with the best beside it where that took another time by then."""
    why, before, beside = record["why"] or "", outcome.before(record), record.get("against_ms")
    if not record["step_ms"] or not beside or before is None or not before["step_ms"]:
        return why
    times = beside / before["step_ms"]
    if max(times, 1 / times) < DRIFTED:
        return why
    return f"{why}: {numbers.ms(record['step_ms'])} beside {numbers.ms(beside)} of the best"


def named(record: Record, outcome: Outcome) -> str:
    """A trial, with what it changed beside its own change."""
    beside = outcome.beside(record)
    others = ", ".join(title({"change": change, "value": value}) for change, value in beside)
    return f"{title(record)} with {others}" if others else title(record)


def _predicted(record: Record) -> str:
    reach = record.get("predicted_range_ms")
    between = f" ({numbers.between(*reach)})" if reach else ""
    return f"{numbers.ms(record['predicted_ms'])}{between} by {record['predicted_by']}"


def notes(outcome: Outcome) -> list[str]:
    """What the reader should know of the journal and of the machine."""
    several = (
        f"{outcome.runs} runs: baseline and best were measured again in the last, whose figures "
        "stand at the top; the path begins with the baseline of the first, and trials of earlier "
        "runs stand as they were measured then"
    )
    said = [*outcome.notes, several if outcome.runs > 1 else "", outcome.drift]
    return [each for each in said if each]


def _head(outcome: Outcome, width: int) -> list[Line]:
    program = sanitize.visible(" ".join((outcome.target, *outcome.arguments)))
    return [
        *section("tune", [line(result(outcome), "class")]),
        *section("", paragraph(cost(outcome), width)),
        *section("program", paragraph(f"{program}; {where(outcome)}", width, "dim")),
        *section("ended", paragraph(f"{spent(outcome)}: {outcome.ended}", width)),
    ]


def _predictions(outcome: Outcome, width: int) -> list[Line]:
    rows = paragraph(about_predictions(outcome), width, "dim")
    return rows + [row for text in predictions(outcome) for row in paragraph(text, width)]


def gate_findings(outcome: Outcome) -> list[str]:
    """What correctness refused, and what failed otherwise."""
    return [
        sanitize.visible(f"{named(each, outcome)}: {each['decision']}: {each['why']}")
        for each in outcome.story
        if each["decision"] in ("rejected", "failed") and each["failure"] != CUT
    ]


def none_found(outcome: Outcome) -> str:
    """What an empty list of findings means."""
    is_tried = any(each["kind"] == "trial" for each in outcome.story)
    return "every trial that gave a number passed" if is_tried else "nothing was tried"


def _gates(outcome: Outcome, width: int) -> list[Line]:
    found = gate_findings(outcome)
    if not found:
        return [line(none_found(outcome), "dim")]
    return [row for text in found for row in paragraph(text, width, "warning")]


def _questions(outcome: Outcome, width: int) -> list[Line]:
    rows: list[Line] = []
    for each in questions(outcome.records):
        rows.append((Span(title({"change": each.change, "value": each.value}), "strong"),))
        for field, label in QUESTIONS:
            rows += entry(Span(f"  {label}"), getattr(each, field), width, column=15)
    return rows


def _verify(outcome: Outcome) -> list[Line]:
    about = verify_about(outcome)
    rows = [line(about, "dim")] if about else []
    return rows + [line(each, "command") for each in verify(outcome)]


def _patch(outcome: Outcome) -> list[Line]:
    rows: list[Line] = []
    for change, code in outcome.patch:
        rows.append(line(f"# {change}", "dim"))
        rows += [line(sanitize.visible(text), "code") for text in code.splitlines()]
    return rows
